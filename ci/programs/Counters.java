import java.util.concurrent.atomic.AtomicLongArray;

/** Threads that count in neighbouring fields of an object, and in neighbouring elements of an array. */
class Counters {
    volatile long requests;
    volatile long errors;
    final AtomicLongArray slots = new AtomicLongArray(2);

    void countRequests() {
        for (;;) requests++;
    }

    void countErrors() {
        for (;;) errors++;
    }

    void countIn(int slot) {
        for (;;) slots.incrementAndGet(slot);
    }

    public static void main(String[] words) {
        Counters counters = new Counters();
        new Thread(counters::countRequests, "requests").start();
        new Thread(counters::countErrors, "errors").start();
        for (int slot = 0; slot < 2; slot++) {
            int own = slot;
            new Thread(() -> counters.countIn(own), "slot").start();
        }
    }
}
