/* SPDX-License-Identifier: Apache-2.0 */
#include "example/parallel_parse.h"

#include "base/thread.h"

typedef struct {
    fr_parser parser;
    fr_columns *columns; /* the columns of the batch, or `own` */
    fr_columns own;
    const fr_row_source *source;
    size_t first, count;
    fr_thread thread;
    bool started;
    int status;
    fr_error err;
} member;

static void *parse(void *argument) {
    member *m = argument;
    m->status =
        m->source->parse(m->source->self, &m->parser, m->first, m->count, m->columns, &m->err);
    return NULL;
}

/* All members except the first have separate columns. */
static int prepare(member *m, const fr_schema *schema, fr_columns *columns, bool split,
                   fr_error *err) {
    FR_TRY(fr_parser_init(&m->parser, schema, err));
    m->columns = split ? &m->own : columns;
    if (!split) return FR_OK;
    return fr_columns_split(columns, fr_columns_records(columns) + m->first, &m->own, err);
}

/* Starts all members except the first. If a thread cannot be started, the caller does its work. */
static void start(member *members, size_t count) {
    for (size_t i = 1; i < count; i++)
        members[i].started = fr_thread_start(&members[i].thread, parse, &members[i]) == 0;
}

static int finish(member *members, size_t count, fr_error *err) {
    for (size_t i = 0; i < count; i++) {
        if (members[i].started)
            fr_thread_join(members[i].thread);
        else
            parse(&members[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (members[i].status == FR_OK) continue;
        if (err) *err = members[i].err;
        return members[i].status;
    }
    return FR_OK;
}

int fr_parallel_rows(const fr_schema *schema, const fr_row_source *source, const size_t *firsts,
                     size_t threads, fr_columns *columns, fr_error *err) {
    member members[FR_PARALLEL_PARSE_MAX];
    size_t ready = 0;
    int status = FR_OK;
    while (status == FR_OK && ready < threads) {
        const size_t first = firsts[ready], count = firsts[ready + 1] - first;
        members[ready] = (member){.source = source, .first = first, .count = count};
        status = prepare(&members[ready], schema, columns, ready > 0, err);
        ready++;
    }
    if (status == FR_OK) {
        start(members, threads);
        status = finish(members, threads, err);
    }
    for (size_t i = 1; status == FR_OK && i < threads; i++)
        status = fr_columns_join(columns, &members[i].own, err);
    for (size_t i = 0; i < ready; i++) {
        members[i].own.dense = (fr_buffer){0};
        fr_columns_free(&members[i].own);
        fr_parser_free(&members[i].parser);
    }
    return status;
}

static int parse_spans(const void *self, fr_parser *parser, size_t first, size_t count,
                       fr_columns *columns, fr_error *err) {
    const fr_span *records = self;
    int status = fr_parse_rows(parser, records + first, count, columns, err);
    if (status != FR_OK && err) err->record += (int64_t)first;
    return status;
}

/* Divides the records among threads; returns the number of threads that receive some. */
static size_t deal(const fr_span *records, size_t count, size_t wanted, size_t *firsts) {
    uint64_t total = 0, seen = 0;
    for (size_t i = 0; i < count; i++)
        total += records[i].size;
    if (wanted > total / FR_PARALLEL_PARSE_BYTES)
        wanted = (size_t)(total / FR_PARALLEL_PARSE_BYTES);
    if (wanted < 1) wanted = 1;
    size_t made = 0;
    for (size_t i = 0; i < count || made == 0; i++) {
        if (made < wanted && seen >= total / wanted * made) firsts[made++] = i;
        if (i < count) seen += records[i].size;
    }
    firsts[made] = count;
    return made;
}

int fr_parallel_parse(const fr_schema *schema, const fr_span *records, size_t count, size_t threads,
                      fr_columns *columns, fr_error *err) {
    const fr_row_source source = {.self = records, .parse = parse_spans};
    size_t firsts[FR_PARALLEL_PARSE_MAX + 1];
    if (threads > FR_PARALLEL_PARSE_MAX) threads = FR_PARALLEL_PARSE_MAX;
    threads = deal(records, count, threads, firsts);
    return fr_parallel_rows(schema, &source, firsts, threads, columns, err);
}
