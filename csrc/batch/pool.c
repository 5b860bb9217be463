/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/pool.h"

#include <stdlib.h>

#include "base/platform.h"
#include "base/thread.h"

/* Columns, and the next idle entry. `columns` is the first member, so both have the same
   address. */
typedef struct entry {
    fr_columns columns;
    struct entry *next;
} entry;

struct fr_pool {
    fr_schema schema;
    size_t keep;
    int64_t pid;
    fr_mutex mutex; /* guards the following fields */
    entry *idle;    /* a stack, because the pages of the entry given back last are warm */
    size_t idle_count;
    size_t taken;
    bool owned;
};

/*
 * Returns true in a child of fork(), where the mutex may be held by a thread that the child does
 * not have. In the child the pool is only a schema: columns that are taken are newly made, columns
 * that are given back are freed, and the pool itself is not freed.
 */
static bool is_foreign(const fr_pool *pool) {
    return fr_process_id() != pool->pid;
}

static void free_entry(entry *e) {
    fr_columns_free(&e->columns);
    free(e);
}

int fr_pool_new(fr_schema *schema, size_t keep, fr_pool **pool, fr_error *err) {
    fr_pool *made = calloc(1, sizeof *made);
    if (!made) return fr_fail_nomem(err, sizeof *made);
    int failed = fr_mutex_init(&made->mutex);
    if (failed) {
        free(made);
        return fr_fail_io(err, failed, "making a mutex");
    }
    made->schema = *schema;
    memset(schema, 0, sizeof *schema);
    made->keep = keep;
    made->pid = fr_process_id();
    made->owned = true;
    *pool = made;
    return FR_OK;
}

const fr_schema *fr_pool_schema(const fr_pool *pool) {
    return &pool->schema;
}

/* Unlocks the pool, and frees it if the owner has released it and no columns are out. */
static void unlock(fr_pool *pool) {
    bool last = !pool->owned && pool->taken == 0;
    fr_mutex_unlock(&pool->mutex);
    if (!last) return;
    while (pool->idle) {
        entry *e = pool->idle;
        pool->idle = e->next;
        free_entry(e);
    }
    fr_mutex_destroy(&pool->mutex);
    fr_schema_free(&pool->schema);
    free(pool);
}

/* Returns an idle entry, or NULL. In both cases, counts one more entry as taken. */
static entry *check_out(fr_pool *pool) {
    if (is_foreign(pool)) return NULL;
    fr_mutex_lock(&pool->mutex);
    entry *e = pool->idle;
    if (e) {
        pool->idle = e->next;
        pool->idle_count--;
    }
    pool->taken++;
    unlock(pool);
    return e;
}

/* Counts one entry less as taken. `e` may be NULL. */
static void check_in(fr_pool *pool, entry *e) {
    if (is_foreign(pool)) {
        if (e) free_entry(e);
        return;
    }
    fr_mutex_lock(&pool->mutex);
    if (e && pool->owned && pool->idle_count < pool->keep) {
        e->next = pool->idle;
        pool->idle = e;
        pool->idle_count++;
    } else if (e) {
        free_entry(e);
    }
    pool->taken--;
    unlock(pool);
}

int fr_pool_take(fr_pool *pool, size_t capacity, fr_columns **columns, fr_error *err) {
    entry *e = check_out(pool);
    if (!e) e = calloc(1, sizeof *e);
    int status = e ? fr_columns_begin(&e->columns, &pool->schema, capacity, err)
                   : fr_fail_nomem(err, sizeof *e);
    if (status != FR_OK) {
        check_in(pool, e);
        return status;
    }
    *columns = &e->columns;
    return FR_OK;
}

int fr_pool_lend(fr_pool *pool, void *data, size_t size, fr_error *err) {
    entry *e = calloc(1, sizeof *e);
    if (!e) return fr_fail_nomem(err, sizeof *e);
    e->columns.dense = (fr_buffer){.data = data, .capacity = size};
    e->columns.lent = true;
    fr_mutex_lock(&pool->mutex);
    pool->taken++;
    fr_mutex_unlock(&pool->mutex);
    check_in(pool, e);
    return FR_OK;
}

void fr_pool_give(fr_pool *pool, fr_columns *columns) {
    check_in(pool, (entry *)(void *)columns);
}

void fr_pool_release(fr_pool *pool) {
    if (!pool || is_foreign(pool)) return;
    fr_mutex_lock(&pool->mutex);
    pool->owned = false;
    unlock(pool);
}

size_t fr_pool_taken(const fr_pool *pool) {
    fr_mutex *mutex = (fr_mutex *)&pool->mutex;
    fr_mutex_lock(mutex);
    size_t taken = pool->taken;
    fr_mutex_unlock(mutex);
    return taken;
}
