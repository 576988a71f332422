#include <atomic>
#include <memory>

// Functions whose accesses are counted.
namespace app {

struct Base {
    virtual ~Base() = default;
    std::atomic<long> hits{0};
    long plain = 0;
};

struct Session : Base {
    int limit = 0;
    std::atomic<int> refs{0};
    Session *next = nullptr;

    __attribute__((noipa)) void get() { refs.fetch_add(1); }
    __attribute__((noipa)) bool claim()
    {
        int none = 0;
        return refs.compare_exchange_strong(none, 1);
    }
    __attribute__((noipa)) int limit_of_next() const { return next->limit; }
    __attribute__((noipa)) void hit() { hits.fetch_add(1, std::memory_order_relaxed); }
    __attribute__((noipa)) void set_plain() { plain = 5; }
};

__attribute__((noipa)) int read_reference(const Session &session) { return session.limit; }

__attribute__((noipa)) void write_unique(std::unique_ptr<Session> &owner) { owner->limit = 1; }

std::atomic<long> counter;
__attribute__((noipa)) void count() { counter.fetch_add(1); }

}

int main()
{
    auto owner = std::make_unique<app::Session>();
    owner->next = owner.get();
    owner->get();
    owner->claim();
    owner->hit();
    owner->set_plain();
    app::write_unique(owner);
    app::count();
    return owner->limit_of_next() + app::read_reference(*owner);
}
