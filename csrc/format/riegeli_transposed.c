/* SPDX-License-Identifier: Apache-2.0 */
#include "format/riegeli_transposed.h"

#include <inttypes.h>
#include <stdlib.h>

#include "format/riegeli_records.h"
#include "format/wire.h"

/* The actions of nodes. The first four are also tags. */
enum {
    NOTHING,
    NO_MESSAGE,
    MESSAGE_BEGINS,
    RECORD_BEGINS,
    COPY,
    VARINT,
    FIXED,
    TEXT,
    MESSAGE_ENDS
};

/* A value of the lowest three bits of a tag that the wire format does not have. */
#define WIRE_MESSAGE_ENDS 6
#define LEAST_TAG 8
#define DIGITS 10 /* subtypes of a varint that state its size less one; later ones its value */
#define SMALL_VALUES 0x80
#define MOST_TAG_SIZE 8
#define MOST_DEPTH (1 << 20)
#define IDLE 16 /* steps without a value, for each byte of the transitions */

typedef struct {
    uint8_t action;
    uint8_t tag_size;
    uint8_t value_size;
    bool is_implicit;           /* whether the next node is reached without a transition */
    uint8_t tag[MOST_TAG_SIZE]; /* with the value, if the node states it */
    uint32_t buffer;            /* number of the buffer that values are taken from */
    uint32_t following;
} node;

/* A message whose begin was not reached yet. */
typedef struct {
    const uint8_t *end;
    const node *ends;
} message;

typedef struct {
    fr_span rest; /* of the header */
    node *nodes;
    fr_span *buffers; /* the rest of each */
    size_t node_count, buffer_count;
    uint8_t *begin, *at; /* of the output, which is written from its end on */
    fr_buffer messages;
    size_t records, *offsets; /* the number of records that are left, and their positions */
    uint64_t idle;            /* steps without a value that may follow */
} program;

/* Finds the buffers in their buckets. */
static int split_buckets(program *p, const fr_riegeli_transposed *chunk, fr_error *err) {
    size_t bucket = 0;
    fr_span rest = chunk->bucket_count ? chunk->buckets[0] : (fr_span){NULL, 0};
    for (size_t i = 0; i < p->buffer_count; i++) {
        uint64_t size;
        FR_TRY(fr_riegeli_number(&p->rest, UINT32_MAX, "the size of a buffer", &size, err));
        if (bucket == chunk->bucket_count || size > rest.size)
            return fr_fail(err, FR_ERR_CORRUPT,
                           "a buffer of %" PRIu64 " bytes does not fit its bucket", size);
        FR_TRY(fr_riegeli_take(&rest, size, "a buffer has", &p->buffers[i], err));
        while (!rest.size && bucket + 1 < chunk->bucket_count)
            rest = chunk->buckets[++bucket];
    }
    if (chunk->bucket_count && (bucket + 1 != chunk->bucket_count || rest.size))
        return fr_fail(err, FR_ERR_CORRUPT, "its buckets have more bytes than its buffers");
    return FR_OK;
}

static void put_tag(node *n, uint32_t tag) {
    n->tag_size = (uint8_t)(fr_wire_put_varint(n->tag, tag) - n->tag);
}

/* Sets what a node with this tag does. `subtypes` are those of nodes of varints. */
static int set_action(node *n, uint32_t tag, fr_span *subtypes, fr_error *err) {
    const uint32_t wire = tag & 7;
    if (tag < LEAST_TAG) {
        if (tag > RECORD_BEGINS)
            return fr_fail(err, FR_ERR_CORRUPT, "a field has the tag %" PRIu32, tag);
        n->action = (uint8_t)tag;
        return FR_OK;
    }
    put_tag(n, tag);
    if (wire == FR_WIRE_VARINT) {
        const uint8_t subtype = subtypes->data[0];
        *subtypes = fr_span_after(*subtypes, 1);
        if (subtype >= DIGITS + SMALL_VALUES)
            return fr_fail(err, FR_ERR_CORRUPT, "a varint has the subtype %d", subtype);
        n->action = subtype < DIGITS ? VARINT : COPY;
        n->value_size = subtype < DIGITS ? subtype + 1 : 0;
        if (n->action == COPY) n->tag[n->tag_size++] = subtype - DIGITS;
    } else if (wire == FR_WIRE_FIXED32 || wire == FR_WIRE_FIXED64) {
        n->action = FIXED;
        n->value_size = wire == FR_WIRE_FIXED32 ? 4 : 8;
    } else if (wire == FR_WIRE_GROUP || wire == FR_WIRE_GROUP_END) {
        n->action = COPY;
    } else if (wire == FR_WIRE_SIZED) {
        n->action = TEXT;
    } else if (wire == WIRE_MESSAGE_ENDS) {
        n->action = MESSAGE_ENDS;
        put_tag(n, tag - WIRE_MESSAGE_ENDS + FR_WIRE_SIZED);
    } else {
        return fr_fail(err, FR_ERR_CORRUPT, "a field has the tag %" PRIu32, tag);
    }
    return FR_OK;
}

/* Fails if the program could run forever, because implicit nodes form a loop. */
static int check_loops(const program *p, uint32_t *seen, fr_error *err) {
    for (size_t start = 0; start < p->node_count; start++) {
        size_t at = start;
        while (!seen[at]) {
            seen[at] = (uint32_t)start + 1;
            if (!p->nodes[at].is_implicit) break;
            at = p->nodes[at].following;
            if (seen[at] == start + 1) return fr_fail(err, FR_ERR_CORRUPT, "its nodes form a loop");
        }
    }
    return FR_OK;
}

/* Reads the nodes. `tags` is an array of one number per node. */
static int read_nodes(program *p, uint32_t *tags, fr_error *err) {
    const size_t count = p->node_count;
    size_t varints = 0;
    uint64_t value;
    fr_span subtypes;
    for (size_t i = 0; i < count; i++) {
        FR_TRY(fr_riegeli_number(&p->rest, UINT32_MAX, "a tag", &value, err));
        tags[i] = (uint32_t)value;
        varints += value >= LEAST_TAG && (value & 7) == FR_WIRE_VARINT;
    }
    for (size_t i = 0; i < count; i++) {
        FR_TRY(fr_riegeli_number(&p->rest, 2 * count - 1, "a next node", &value, err));
        p->nodes[i].following = (uint32_t)(value % count);
        p->nodes[i].is_implicit = value >= count;
    }
    FR_TRY(fr_riegeli_take(&p->rest, varints, "the subtypes have", &subtypes, err));
    for (size_t i = 0; i < count; i++) {
        node *const n = p->nodes + i;
        FR_TRY(set_action(n, tags[i], &subtypes, err));
        if (n->action != NO_MESSAGE && n->action != VARINT && n->action != FIXED &&
            n->action != TEXT)
            continue;
        if (!p->buffer_count) return fr_fail(err, FR_ERR_CORRUPT, "it has no buffers");
        FR_TRY(fr_riegeli_number(&p->rest, p->buffer_count - 1, "the number of a buffer", &value,
                                 err));
        n->buffer = (uint32_t)value;
    }
    memset(tags, 0, count * sizeof *tags);
    return check_loops(p, tags, err);
}

/* Returns where `size` bytes before the others are written, or NULL. */
static inline uint8_t *make_room(program *p, size_t size, fr_error *err) {
    if (FR_UNLIKELY(size > (size_t)(p->at - p->begin))) {
        fr_fail(err, FR_ERR_CORRUPT, "its records have more bytes than it states");
        return NULL;
    }
    return p->at -= size;
}

/* Writes the tag of a node, and the next `size` bytes of its buffer. */
static inline int put_value(program *p, const node *n, size_t size, fr_error *err) {
    fr_span *const buffer = p->buffers + n->buffer;
    if (FR_UNLIKELY(size > buffer->size))
        return fr_fail(err, FR_ERR_CORRUPT, "a buffer ends within a value of %zu bytes", size);
    uint8_t *const out = make_room(p, n->tag_size + size, err);
    if (FR_UNLIKELY(!out)) return FR_ERR_CORRUPT;
    memcpy(out, n->tag, n->tag_size);
    if (size) memcpy(out + n->tag_size, buffer->data, size);
    *buffer = fr_span_after(*buffer, size);
    return FR_OK;
}

static int put_text(program *p, const node *n, fr_error *err) {
    const fr_span buffer = p->buffers[n->buffer];
    fr_span text = buffer;
    uint64_t size;
    FR_TRY(fr_riegeli_number(&text, UINT64_MAX, "the length of a text", &size, err));
    const size_t digits = buffer.size - text.size;
    return put_value(p, n, size > text.size ? SIZE_MAX - MOST_TAG_SIZE : digits + (size_t)size,
                     err);
}

static int end_message(program *p, const node *n, fr_error *err) {
    const size_t depth = p->messages.size / sizeof(message) + 1;
    const message ended = {p->at, n};
    /* Each makes at least a tag and a length. */
    if (2 * depth > (size_t)(p->at - p->begin))
        return fr_fail(err, FR_ERR_CORRUPT, "its messages have more bytes than it states");
    if (depth > MOST_DEPTH)
        return fr_fail(err, FR_ERR_CORRUPT, "its messages are nested %zu deep", depth);
    return fr_buffer_append(&p->messages, &ended, sizeof ended, err);
}

static int begin_message(program *p, fr_error *err) {
    message ended;
    if (!p->messages.size)
        return fr_fail(err, FR_ERR_CORRUPT, "a message begins that does not end");
    p->messages.size -= sizeof ended;
    memcpy(&ended, p->messages.data + p->messages.size, sizeof ended);
    const uint64_t size = (uint64_t)(ended.end - p->at);
    uint8_t *const out = make_room(p, ended.ends->tag_size + fr_wire_varint_size(size), err);
    if (!out) return FR_ERR_CORRUPT;
    memcpy(out, ended.ends->tag, ended.ends->tag_size);
    fr_wire_put_varint(out + ended.ends->tag_size, size);
    return FR_OK;
}

static int begin_record(program *p, const node *n, fr_error *err) {
    if (n->action == NO_MESSAGE) {
        uint64_t size;
        FR_TRY(fr_riegeli_number(p->buffers + p->buffer_count - 1, UINT32_MAX,
                                 "the length of a record", &size, err));
        FR_TRY(put_value(p, n, (size_t)size, err));
    }
    if (p->messages.size)
        return fr_fail(err, FR_ERR_CORRUPT, "a record begins inside of a message");
    if (!p->records) return fr_fail(err, FR_ERR_CORRUPT, "it has more records than it states");
    p->offsets[--p->records] = (size_t)(p->at - p->begin);
    return FR_OK;
}

static inline int act(program *p, const node *n, fr_error *err) {
    uint8_t *out;
    switch (n->action) {
        case COPY:
            out = make_room(p, n->tag_size, err);
            if (FR_UNLIKELY(!out)) return FR_ERR_CORRUPT;
            memcpy(out, n->tag, n->tag_size);
            return FR_OK;
        case VARINT:
            FR_TRY(put_value(p, n, n->value_size, err));
            out = p->at + n->tag_size;
            for (int i = 0; i < n->value_size - 1; i++)
                out[i] |= 0x80;
            return FR_OK;
        case FIXED:
            return put_value(p, n, n->value_size, err);
        case TEXT:
            return put_text(p, n, err);
        case MESSAGE_ENDS:
            return end_message(p, n, err);
        case MESSAGE_BEGINS:
            return begin_message(p, err);
        case NOTHING:
            if (p->idle--) return FR_OK;
            return fr_fail(err, FR_ERR_CORRUPT, "its program does nothing for too long");
        default:
            return begin_record(p, n, err);
    }
}

/* Runs nodes from `at` on until a transition is needed. A byte of the transitions states how many
   nodes with a transition follow without one. */
static int follow(program *p, size_t *at, unsigned steps, fr_error *err) {
    const node *n = p->nodes + *at;
    for (steps += n->is_implicit;; steps += n->is_implicit) {
        FR_TRY(act(p, n, err));
        if (!steps--) break;
        n = p->nodes + n->following;
    }
    *at = n->following;
    return FR_OK;
}

static int run(program *p, fr_span transitions, size_t at, size_t size, fr_error *err) {
    const size_t count = p->records;
    FR_TRY(follow(p, &at, 0, err));
    for (size_t i = 0; i < transitions.size; i++) {
        const uint8_t byte = transitions.data[i];
        at += byte >> 2;
        if (at >= p->node_count)
            return fr_fail(err, FR_ERR_CORRUPT, "node %zu of %zu is next", at, p->node_count);
        FR_TRY(follow(p, &at, byte & 3, err));
    }
    if (p->records || p->messages.size || p->offsets[0] != (size_t)(p->at - p->begin))
        return fr_fail(err, FR_ERR_CORRUPT, "%zu of %zu records are in it", count - p->records,
                       count);
    if (p->at != p->begin)
        return fr_fail(err, FR_ERR_CORRUPT, "%zu of %zu bytes are in it",
                       size - (size_t)(p->at - p->begin), size);
    return FR_OK;
}

int fr_riegeli_transposed_run(const fr_riegeli_transposed *chunk, size_t count, size_t size,
                              uint8_t *out, size_t *offsets, fr_error *err) {
    program p = {.rest = chunk->header,
                 .buffer_count = chunk->buffer_count,
                 .begin = out,
                 .at = out + size,
                 .records = count,
                 .offsets = offsets};
    uint64_t value;
    int status = FR_OK;
    uint32_t *tags = NULL;
    p.idle = IDLE * ((uint64_t)chunk->transitions.size + 1);
    offsets[count] = size;
    if (chunk->buffer_count > chunk->header.size)
        return fr_fail(err, FR_ERR_CORRUPT, "%" PRIu64 " buffers do not fit its header",
                       chunk->buffer_count);
    p.buffers = calloc(p.buffer_count + 1, sizeof *p.buffers);
    if (!p.buffers) return fr_fail_nomem(err, p.buffer_count * sizeof *p.buffers);
    status = split_buckets(&p, chunk, err);
    if (status == FR_OK)
        status = fr_riegeli_number(&p.rest, p.rest.size, "the number of nodes", &value, err);
    if (status == FR_OK && !value) status = fr_fail(err, FR_ERR_CORRUPT, "it has no nodes");
    if (status == FR_OK) {
        p.node_count = (size_t)value;
        p.nodes = calloc(p.node_count, sizeof *p.nodes);
        tags = calloc(p.node_count, sizeof *tags);
        if (!p.nodes || !tags) status = fr_fail_nomem(err, p.node_count * sizeof *p.nodes);
    }
    if (status == FR_OK) status = read_nodes(&p, tags, err);
    if (status == FR_OK)
        status = fr_riegeli_number(&p.rest, p.node_count - 1, "the first node", &value, err);
    if (status == FR_OK && p.rest.size)
        status = fr_fail(err, FR_ERR_CORRUPT, "bytes follow its header");
    if (status == FR_OK) status = run(&p, chunk->transitions, (size_t)value, size, err);
    free(tags);
    free(p.nodes);
    free(p.buffers);
    fr_buffer_free(&p.messages);
    return status;
}
