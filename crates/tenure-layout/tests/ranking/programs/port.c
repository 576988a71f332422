/* Two threads, each with a lock of its own and a number that the lock guards. PORT stands for the members. */
#include <pthread.h>
#include <stdio.h>
#define LINE __attribute__((aligned(64)))
struct port { PORT };
static struct port port LINE;
#define API __attribute__((noinline, noclone)) static
API void receive(struct port *p)
{
	pthread_spin_lock(&p->in_lock);
	p->in_count++;
	pthread_spin_unlock(&p->in_lock);
}
API void transmit(struct port *p)
{
	pthread_spin_lock(&p->out_lock);
	p->out_count++;
	pthread_spin_unlock(&p->out_lock);
}
static void *reader(void *p) { for (int i = 0; i < 1000000; i++) receive(p); return NULL; }
static void *writer(void *p) { for (int i = 0; i < 1000000; i++) transmit(p); return NULL; }
int main(void)
{
	pthread_t a, b;
	pthread_spin_init(&port.in_lock, 0);
	pthread_spin_init(&port.out_lock, 0);
	pthread_create(&a, NULL, reader, &port);
	pthread_create(&b, NULL, writer, &port);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%d %d\n", port.in_count, port.out_count);
}
