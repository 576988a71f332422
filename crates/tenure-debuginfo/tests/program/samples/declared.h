#define API __attribute__((noipa))

struct session {
    int refs;
    long hits;
};

struct pair {
    long first, second;
};

struct triple {
    long first, second, third;
};

void other(struct session *session);
