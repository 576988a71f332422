/* Phoenix' linear_regression as the papers on Sheriff and Predator describe it: threads add to sums in neighbouring elements. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { char x, y; } POINT_T;
typedef struct {
  pthread_t tid;
  POINT_T *points;
  int num_elems, rounds;
  long long SX, SY, SXX, SYY, SXY;
} lreg_args;

static void *linear_regression(void *argument) {
  lreg_args *args = argument;
  for (int round = 0; round < args->rounds; round++)
    for (int i = 0; i < args->num_elems; i++) {
      args->SX += args->points[i].x;
      args->SXX += args->points[i].x * args->points[i].x;
      args->SY += args->points[i].y;
      args->SYY += args->points[i].y * args->points[i].y;
      args->SXY += args->points[i].x * args->points[i].y;
    }
  return NULL;
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 2, count = argc > 2 ? atoi(argv[2]) : 1000;
  POINT_T *points = calloc(count, sizeof *points);
  lreg_args *args = calloc(threads, sizeof *args);
  for (int i = 0; i < count; i++)
    points[i].x = i % 7, points[i].y = i % 5;
  for (int i = 0; i < threads; i++) {
    args[i].points = points + i * (count / threads);
    args[i].num_elems = count / threads;
    args[i].rounds = argc > 3 ? atoi(argv[3]) : 20;
    pthread_create(&args[i].tid, NULL, linear_regression, &args[i]);
  }
  long long sum = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(args[i].tid, NULL);
    sum += args[i].SXY;
  }
  printf("%lld\n", sum);
  free(args);
  free(points);
}
