/* SPDX-License-Identifier: Apache-2.0 */
#include "example/parallel_parse.h"

#include "base/thread.h"

/* A thread starts in about 20 microseconds, in which this many bytes are parsed several times. */
#define BYTES_PER_THREAD ((size_t)1 << 19)

typedef struct {
    fr_parser parser;
    fr_columns *columns; /* the batch's, or `own` */
    fr_columns own;
    const fr_span *records;
    size_t first, count;
    pthread_t thread;
    bool started;
    int status;
    fr_error err;
} member;

static void *parse(void *argument) {
    member *m = argument;
    m->status = fr_parse_rows(&m->parser, m->records + m->first, m->count, m->columns, &m->err);
    return NULL;
}

static int prepare(member *m, const fr_schema *schema, fr_columns *columns, fr_error *err) {
    FR_TRY(fr_parser_init(&m->parser, schema, err));
    m->columns = columns;
    if (m->first == 0) return FR_OK;
    m->columns = &m->own;
    return fr_columns_split(columns, m->first, &m->own, err);
}

/* Deals out the records; returns how many members have some. */
static size_t deal(member *members, size_t wanted, const fr_span *records, size_t count) {
    uint64_t total = 0, seen = 0;
    for (size_t i = 0; i < count; i++)
        total += records[i].size;
    if (wanted > total / BYTES_PER_THREAD) wanted = (size_t)(total / BYTES_PER_THREAD);
    if (wanted < 1) wanted = 1;
    size_t made = 0;
    for (size_t i = 0; i < count || made == 0; i++) {
        if (made < wanted && seen >= total / wanted * made)
            members[made++] = (member){.records = records, .first = i};
        if (i < count) {
            seen += records[i].size;
            members[made - 1].count++;
        }
    }
    return made;
}

/* Starts all but the first; one that does not start is done by this thread. */
static void start(member *members, size_t count) {
    sigset_t before;
    fr_block_signals(&before);
    for (size_t i = 1; i < count; i++)
        members[i].started = pthread_create(&members[i].thread, NULL, parse, &members[i]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int finish(member *members, size_t count, fr_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (members[i].started)
            pthread_join(members[i].thread, NULL);
        else
            parse(&members[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (members[i].status == FR_OK) continue;
        if (err) *err = members[i].err;
        if (err) err->record += (int64_t)members[i].first;
        return members[i].status;
    }
    return FR_OK;
}

int fr_parallel_parse(const fr_schema *schema, const fr_span *records, size_t count, size_t threads,
                      fr_columns *columns, fr_error *err) {
    member members[FR_PARALLEL_PARSE_MAX];
    if (threads > FR_PARALLEL_PARSE_MAX) threads = FR_PARALLEL_PARSE_MAX;
    size_t made = deal(members, threads, records, count), ready = 0;
    int status = FR_OK;
    while (status == FR_OK && ready < made)
        status = prepare(&members[ready++], schema, columns, err);
    if (status == FR_OK) {
        start(members, made);
        status = finish(members, made, err);
    }
    for (size_t i = 1; status == FR_OK && i < made; i++)
        status = fr_columns_join(columns, &members[i].own, err);
    for (size_t i = 0; i < ready; i++) {
        members[i].own.dense = (fr_buffer){0};
        fr_columns_free(&members[i].own);
        fr_parser_free(&members[i].parser);
    }
    return status;
}
