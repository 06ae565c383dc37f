/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where unread input lies: in a spare buffer of the loop while there is some; a
 * larger request grows it up to its bound.  An idle connection holds none.
 */
#include <stdlib.h>
#include <string.h>

#include "server/conn_io.h"

static bool mete__input_take(struct mete__conn *conn)
{
    struct mete__conns *conns = &conn->loop->conns;
    struct mete__out *in = &conn->io->in;
    if (in->bytes != NULL) {
        return true;
    }
    if (conns->spare_count > 0) {
        in->bytes = conns->spare[--conns->spare_count];
        in->size = METE__BUFFER_SIZE;
        return true;
    }
    in->bytes = malloc(METE__BUFFER_SIZE);
    in->size = in->bytes != NULL ? METE__BUFFER_SIZE : 0;
    return in->bytes != NULL;
}

void mete__input_give(struct mete__conn *conn)
{
    struct mete__conns *conns = &conn->loop->conns;
    struct mete__out *in = &conn->io->in;
    if (in->bytes != NULL && in->size == METE__BUFFER_SIZE && conns->spare_count < METE__SPARE_BUFFERS) {
        conns->spare[conns->spare_count++] = in->bytes;
        in->bytes = NULL;
    }
    free(in->bytes);
    in->bytes = NULL;
    in->len = in->size = conn->io->start = 0;
}

void mete__input_shrink(struct mete__conn *conn)
{
    struct mete__conn_io *io = conn->io;
    size_t len = io->in.len - io->start;
    if (io->in.size != METE__BUFFER_SIZE || len == 0 || len > METE__BUFFER_SIZE / 4) {
        return;
    }
    char *small = malloc(len);
    if (small == NULL) {
        return;
    }
    memcpy(small, io->in.bytes + io->start, len);
    mete__input_give(conn);
    io->in.bytes = small;
    io->in.len = io->in.size = len;
}

static void unshrink(struct mete__conn *conn)
{
    struct mete__out *in = &conn->io->in;
    if (in->bytes != NULL && in->size < METE__BUFFER_SIZE) {
        (void)mete__out_room(in, METE__BUFFER_SIZE - in->len);
    }
}

char *mete__input_room(struct mete__conn *conn, size_t more)
{
    struct mete__conn_io *io = conn->io;
    unshrink(conn);
    if (!mete__input_take(conn)) {
        return NULL;
    }
    if (io->start > 0 && io->in.size - io->in.len < more) {
        mete__out_drop(&io->in, io->start);
        io->start = 0;
    }
    return mete__out_room(&io->in, more);
}
