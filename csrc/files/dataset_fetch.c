/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides when bytes of a dataset's files are read from the disk.
 *
 * A page fault on a map also reads neighbouring pages, up to 8 MiB on some systems. That is right
 * for file order, but reads nine times the bytes of records in random order. Therefore random
 * access turns it off (fr_dataset_scatter()), also for files that seem to be in memory, and
 * announces the pages of each record together before it touches them. Each file has one bit for
 * each page that was announced or read, so that reading a record again costs no system call.
 */
#include "files/dataset_internal.h"

#define GRAIN ((size_t)4096)
#define WINDOW_PAGES 64 /* bits in a word */
#define LONG_RECORD (FR_DATASET_WINDOW / 8)

/* Advises the system about the bytes of a file in [begin, end). */
typedef void advice(const fr_dataset_file *file, size_t begin, size_t end);

/* Returns true if all pages of the `size` bytes at `begin` are marked. If `mark`, also marks
   them. */
static bool are_marked(const fr_dataset_file *file, size_t begin, size_t size, bool mark) {
    bool all = true;
    for (size_t page = begin / GRAIN, last = (begin + size - 1) / GRAIN; page <= last;) {
        _Atomic(uint64_t) *word = &file->pages[page / WINDOW_PAGES];
        const size_t first = page % WINDOW_PAGES, left = last - page + 1;
        const size_t some = left < WINDOW_PAGES - first ? left : WINDOW_PAGES - first;
        const uint64_t mask = (UINT64_MAX >> (WINDOW_PAGES - some)) << first;
        if ((atomic_load_explicit(word, memory_order_relaxed) & mask) != mask) {
            if (!mark) return false;
            atomic_fetch_or_explicit(word, mask, memory_order_relaxed);
            all = false;
        }
        page += some;
    }
    return all;
}

bool fr_dataset_is_near(const fr_dataset *dataset, const fr_dataset_place *place) {
    if (place->frame.size == 0 || dataset->spans) return true;
    const fr_dataset_file *file = &dataset->files[place->file];
    if (file->map.reads) return true;
    return file->pages && are_marked(file, place->offset, place->frame.size, false);
}

/* Longer records are copied without the interpreter's lock, so only their first page must be in
   memory before. */
#define TOUCHED ((size_t)1 << 14)

/*
 * Independent loads overlap their waits for memory. Prefetches would not suffice: processors drop a
 * prefetch if the page is not in the translation buffer, as is usual for scattered records.
 * (Measured with 10 million records of 59 bytes: 320 ns per record with prefetches, 110 ns with
 * loads.)
 */
void fr_dataset_touch(const fr_dataset_place *places, size_t count) {
    unsigned bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const fr_span frame = places[i].frame;
        if (FR_UNLIKELY(frame.size == 0)) continue;
        bytes += frame.data[0] + frame.data[(frame.size < GRAIN ? frame.size : GRAIN) - 1];
    }
    __asm__ volatile("" : : "r"(bytes)); /* keeps the compiler from removing the loads */
}

static void touch_pages(const fr_dataset_place *place) {
    unsigned bytes = 0;
    const size_t size = place->frame.size <= TOUCHED ? place->frame.size : 1;
    for (size_t at = 0; at < size; at += GRAIN)
        bytes += place->frame.data[at];
    if (size) bytes += place->frame.data[size - 1];
    __asm__ volatile("" : : "r"(bytes));
}

void fr_dataset_fetch(const fr_dataset *dataset, const fr_dataset_place *places, size_t count) {
    bool near[FR_DATASET_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        const size_t size = places[i].frame.size;
        const size_t offset = places[i].offset;
        near[i] = fr_dataset_is_near(dataset, &places[i]);
        if (near[i]) continue;
        const fr_dataset_file *file = &dataset->files[places[i].file];
        fr_file_map_scatter(&file->map);
        if (offset / GRAIN != (offset + size - 1) / GRAIN)
            fr_file_map_announce(&file->map, offset, size);
    }
    fr_dataset_touch(places, count);
    for (size_t i = 0; i < count; i++) {
        if (near[i]) continue;
        const fr_dataset_file *file = &dataset->files[places[i].file];
        touch_pages(&places[i]);
        if (file->pages) are_marked(file, places[i].offset, places[i].frame.size, true);
    }
}

bool fr_dataset_has_long(const fr_dataset *dataset) {
    uint64_t size = 0;
    for (size_t i = 0; i < dataset->file_count; i++)
        size += dataset->files[i].stamp.size;
    return size / LONG_RECORD >= dataset->count;
}

/* Extends a range to the borders of its first and last windows, unless these are already marked. */
static void widen(const fr_dataset_file *file, size_t *begin, size_t *end) {
    const size_t first = *begin / FR_DATASET_WINDOW, last = (*end - 1) / FR_DATASET_WINDOW;
    if (atomic_load_explicit(&file->pages[first], memory_order_relaxed) == 0)
        *begin = first * FR_DATASET_WINDOW;
    if (atomic_load_explicit(&file->pages[last], memory_order_relaxed) == 0) {
        const size_t size = file->map.bytes.size, until = (last + 1) * FR_DATASET_WINDOW;
        *end = until < size ? until : size;
    }
}

static void announce_in(const fr_dataset_file *file, size_t begin, size_t end) {
    if (begin == end) return;
    if (file->pages) {
        if (file->stamp.size / LONG_RECORD < file->index.count) widen(file, &begin, &end);
        are_marked(file, begin, end - begin, true);
    }
    fr_file_map_announce(&file->map, begin, end - begin);
}

static void announce_exact(const fr_dataset_file *file, size_t begin, size_t end) {
    fr_file_map_announce(&file->map, begin, end - begin);
}

static void retire_in(const fr_dataset_file *file, size_t begin, size_t end) {
    fr_file_map_retire(&file->map, begin, end - begin);
}

/* Returns the number after the file's last record. Does not use the file's index, because
   another thread may be building it while the file is not held. */
static uint64_t end_of(const fr_dataset *dataset, size_t number) {
    return number + 1 < dataset->file_count ? dataset->files[number + 1].first : dataset->count;
}

/* Advises the system about `count` records from number `number`, with one call for each file. If
   a file cannot be opened, reading it reports the error. */
static void advise(const fr_dataset *dataset, uint64_t number, uint64_t count, advice *about) {
    while (count && !dataset->spans) {
        const size_t i = fr_dataset_find(dataset, number);
        const fr_dataset_file *file = &dataset->files[i];
        const uint64_t first = number - file->first, left = end_of(dataset, i) - number;
        const uint64_t some = count < left ? count : left;
        fr_dataset_hold hold = {.stop = &fr_dataset_no_indexing};
        if (fr_dataset_hold_one(dataset, i, &hold, NULL) == FR_OK) {
            const uint64_t begin = fr_index_offset(&file->index, first);
            const uint64_t end = fr_index_offset(&file->index, first + some);
            if (begin <= end && end <= file->map.bytes.size)
                about(file, (size_t)begin, (size_t)end);
        }
        fr_dataset_let_go(dataset, &hold);
        number += some;
        count -= some;
    }
}

void fr_dataset_scatter(const fr_dataset *dataset) {
    if (dataset->spans) return;
    if (dataset->maps) {
        fr_dataset_maps_scatter(dataset);
        return;
    }
    for (size_t i = 0; i < dataset->file_count; i++)
        fr_file_map_scatter(&dataset->files[i].map);
}

void fr_dataset_announce(const fr_dataset *dataset, uint64_t number, uint64_t count,
                         fr_announce how) {
    advise(dataset, number, count, how == FR_ANNOUNCE_EXACT ? announce_exact : announce_in);
}

void fr_dataset_retire(const fr_dataset *dataset, uint64_t number, uint64_t count) {
    advise(dataset, number, count, retire_in);
}

bool fr_dataset_resident(const fr_dataset *dataset, uint64_t number) {
    fr_dataset_place place;
    fr_dataset_hold hold = {.stop = &fr_dataset_no_indexing};
    bool resident = false;
    if (fr_dataset_resolve(dataset, &number, 1, &place, &hold, NULL) == FR_OK && place.frame.size) {
        const fr_file_map *map = &dataset->files[place.file].map;
        resident = fr_file_map_resident(map, place.offset + place.frame.size / 2);
    }
    fr_dataset_let_go(dataset, &hold);
    return resident;
}
