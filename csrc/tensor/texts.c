/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/texts.h"

#define INLINE __attribute__((always_inline)) static inline

INLINE bool is_space(uint8_t byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Returns true if a byte is the first of a UTF-8 character. */
INLINE bool is_first(uint8_t byte) {
    return (byte & 0xc0) != 0x80;
}

void fr_texts_strip(const fr_texts *texts, int64_t *begins, int64_t *ends) {
    for (size_t i = 0; i < texts->count; i++) {
        int64_t begin = texts->offsets[i], end = texts->offsets[i + 1];
        while (begin < end && is_space(texts->data[begin]))
            begin++;
        while (end > begin && is_space(texts->data[end - 1]))
            end--;
        begins[i] = begin;
        ends[i] = end;
    }
}

/* Returns the position `steps` characters after `at`, which is at most `end`, or -1 if there are
   fewer. */
static int64_t forward(const uint8_t *data, int64_t at, int64_t end, int64_t steps) {
    for (; steps && at < end; steps--)
        do
            at++;
        while (at < end && !is_first(data[at]));
    return steps ? -1 : at;
}

/* Returns the position `steps` characters before `at`, or -1 if there are fewer. */
static int64_t backward(const uint8_t *data, int64_t begin, int64_t at, int64_t steps) {
    for (; steps && at > begin; steps--)
        do
            at--;
        while (at > begin && !is_first(data[at]));
    return steps ? -1 : at;
}

size_t fr_texts_part(const fr_texts *texts, int64_t start, int64_t size, bool characters,
                     int64_t *begins, int64_t *ends) {
    for (size_t i = 0; i < texts->count; i++) {
        const int64_t first = texts->offsets[i], last = texts->offsets[i + 1];
        int64_t begin, end;
        if (!characters) {
            const int64_t length = last - first;
            if (start > length || start < -length) return i;
            begin = start < 0 ? last + start : first + start;
            end = size < 0 || size > last - begin ? last : begin + size;
        } else {
            begin = start < 0 ? backward(texts->data, first, last, -start)
                              : forward(texts->data, first, last, start);
            if (begin < 0) return i;
            end = size < 0 ? last : forward(texts->data, begin, last, size);
            if (end < 0) end = last;
        }
        begins[i] = begin;
        ends[i] = end;
    }
    return texts->count;
}

/* Copies a string. Most strings are short, and a loop copies them faster than a call does. */
INLINE uint8_t *append(uint8_t *out, const uint8_t *data, size_t size) {
    if (size < 16)
        for (size_t i = 0; i < size; i++)
            out[i] = data[i];
    else
        memcpy(out, data, size);
    return out + size;
}

void fr_texts_copy(const uint8_t *data, const int64_t *begins, const int64_t *ends, size_t count,
                   uint8_t *out) {
    for (size_t i = 0; i < count; i++)
        out = append(out, data + begins[i], (size_t)(ends[i] - begins[i]));
}

void fr_texts_count(const fr_texts *texts, int32_t *counts) {
    for (size_t i = 0; i < texts->count; i++) {
        int32_t count = 0;
        for (int64_t at = texts->offsets[i]; at < texts->offsets[i + 1]; at++)
            count += is_first(texts->data[at]);
        counts[i] = count;
    }
}

INLINE uint8_t *append_text(uint8_t *out, const fr_texts *texts, size_t i) {
    const int64_t begin = texts->offsets[i];
    return append(out, texts->data + begin, (size_t)(texts->offsets[i + 1] - begin));
}

void fr_texts_join(const fr_texts *columns, size_t column_count, fr_span separator, size_t count,
                   uint8_t *out) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < column_count; j++) {
            if (j) out = append(out, separator.data, separator.size);
            out = append_text(out, columns + j, columns[j].count == 1 ? 0 : i);
        }
}

void fr_texts_join_rows(const fr_texts *texts, const int64_t *splits, size_t rows,
                        fr_span separator, uint8_t *out) {
    for (size_t row = 0; row < rows; row++)
        for (int64_t i = splits[row]; i < splits[row + 1]; i++) {
            if (i > splits[row]) out = append(out, separator.data, separator.size);
            out = append_text(out, texts, (size_t)i);
        }
}

static uint64_t hash_of(const uint8_t *data, size_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ size;
    for (; size >= 8; size -= 8, data += 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    for (; size; size--)
        hash = (hash ^ *data++) * UINT64_C(0x100000001b3);
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

size_t fr_texts_number(const fr_texts *texts, int64_t *table, size_t slots, int64_t *numbers,
                       int64_t *firsts) {
    size_t different = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const uint8_t *const own = texts->data + texts->offsets[i];
        const size_t size = (size_t)(texts->offsets[i + 1] - texts->offsets[i]);
        size_t slot = hash_of(own, size) & (slots - 1);
        for (;; slot = (slot + 1) & (slots - 1)) {
            if (table[slot] < 0) {
                table[slot] = (int64_t)different;
                firsts[different++] = (int64_t)i;
                break;
            }
            const int64_t first = firsts[table[slot]], begin = texts->offsets[first];
            if ((size_t)(texts->offsets[first + 1] - begin) == size &&
                memcmp(texts->data + begin, own, size) == 0)
                break;
        }
        numbers[i] = table[slot];
    }
    return different;
}

static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void fr_texts_encode_base64(const fr_texts *texts, bool pad, uint8_t *out) {
    for (size_t i = 0; i < texts->count; i++) {
        const uint8_t *data = texts->data + texts->offsets[i];
        size_t size = (size_t)(texts->offsets[i + 1] - texts->offsets[i]);
        for (; size; data += 3) {
            const size_t some = size < 3 ? size : 3;
            const uint32_t bits = (uint32_t)data[0] << 16 |
                                  (some > 1 ? (uint32_t)data[1] << 8 : 0) |
                                  (some > 2 ? data[2] : 0);
            for (size_t digit = 0; digit < some + 1; digit++)
                *out++ = (uint8_t)DIGITS[bits >> (18 - 6 * digit) & 63];
            for (size_t digit = some + 1; pad && digit < 4; digit++)
                *out++ = '=';
            size -= some;
        }
    }
}

/* Fills a table with the value of each digit, and 64 for other bytes. */
static void fill_values(uint8_t values[256]) {
    memset(values, 64, 256);
    for (uint8_t digit = 0; digit < 64; digit++)
        values[(uint8_t)DIGITS[digit]] = digit;
}

size_t fr_texts_decode_base64(const fr_texts *texts, int64_t *offsets, uint8_t *out) {
    uint8_t values[256];
    const uint8_t *const start = out;
    fill_values(values);
    offsets[0] = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const uint8_t *data = texts->data + texts->offsets[i];
        const size_t whole = (size_t)(texts->offsets[i + 1] - texts->offsets[i]);
        size_t size = whole;
        while (size && whole - size < 2 && data[size - 1] == '=')
            size--;
        if (size % 4 == 1 || (size != whole && whole % 4)) return i;
        for (; size; data += 4) {
            const size_t some = size < 4 ? size : 4;
            uint32_t bits = 0, wrong = 0;
            for (size_t digit = 0; digit < some; digit++) {
                wrong |= values[data[digit]];
                bits |= (uint32_t)(values[data[digit]] & 63) << (18 - 6 * digit);
            }
            if (wrong & 64) return i;
            for (size_t byte = 0; byte + 1 < some; byte++)
                *out++ = (uint8_t)(bits >> (16 - 8 * byte));
            size -= some;
        }
        offsets[i + 1] = out - start;
    }
    return texts->count;
}

/* Gets the code point at `data`. Returns its size in bytes, or 0 if it is malformed. */
INLINE size_t point_at(const uint8_t *data, int64_t left, int32_t *point) {
    const uint32_t first = data[0];
    if (first < 0x80) {
        *point = (int32_t)first;
        return 1;
    }
    const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || (int64_t)size > left) return 0;
    uint32_t value = first & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (is_first(data[i])) return 0;
        value = value << 6 | (data[i] & 0x3f);
    }
    if ((size == 3 && value < 0x800) || (size == 4 && value < 0x10000) || value > 0x10ffff ||
        (value >= 0xd800 && value < 0xe000))
        return 0;
    *point = (int32_t)value;
    return size;
}

size_t fr_texts_decode(const fr_texts *texts, int32_t *points, int64_t *begins, int64_t *splits) {
    size_t count = 0;
    splits[0] = 0;
    for (size_t i = 0; i < texts->count; i++) {
        const int64_t end = texts->offsets[i + 1];
        for (int64_t at = texts->offsets[i]; at < end; count++) {
            const size_t size = point_at(texts->data + at, end - at, points + count);
            if (!size) return i;
            begins[count] = at;
            at += (int64_t)size;
        }
        splits[i + 1] = (int64_t)count;
    }
    begins[count] = texts->offsets[texts->count];
    return texts->count;
}

void fr_texts_encode(const int32_t *points, const int64_t *splits, size_t rows, int64_t *offsets,
                     uint8_t *out) {
    static const uint8_t MARKS[] = {0, 0, 0xc0, 0xe0, 0xf0}; /* mark of the first byte, by size */
    const uint8_t *const start = out;
    offsets[0] = 0;
    for (size_t row = 0; row < rows; row++) {
        for (int64_t i = splits[row]; i < splits[row + 1]; i++) {
            const uint32_t point = (uint32_t)points[i];
            const size_t size = 1u + (point > 0x7f) + (point > 0x7ff) + (point > 0xffff);
            *out++ = (uint8_t)(MARKS[size] | point >> 6 * (size - 1));
            for (size_t rest = size - 1; rest--;)
                *out++ = (uint8_t)(0x80 | (point >> 6 * rest & 0x3f));
        }
        offsets[row + 1] = out - start;
    }
}

void fr_texts_of_integers(const int64_t *numbers, size_t count, int64_t *offsets, uint8_t *out) {
    const uint8_t *const start = out;
    offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t digits[20];
        size_t size = 0;
        const int64_t number = numbers[i];
        const bool negative = number < 0;
        uint64_t rest = negative ? -(uint64_t)number : (uint64_t)number;
        do
            digits[size++] = (uint8_t)('0' + rest % 10);
        while (rest /= 10);
        if (negative) *out++ = '-';
        while (size)
            *out++ = digits[--size];
        offsets[i + 1] = out - start;
    }
}
