/* A function with the name of one in another file. */
#include "declared.h"

static API void twin(struct session *session) { session->refs = 1; }

void other(struct session *session) { twin(session); }
