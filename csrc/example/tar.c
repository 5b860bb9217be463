/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is kept from the first header of the current sample on, and parsed once: `parsed` is
 * the position of the next header. A sample ends where another key or the end of the archive
 * begins.
 */
#include "example/tar.h"

#include <stdlib.h>

#include "example/encode.h"

#define EXTENDED "xgLK"     /* types of headers that describe the next member */
#define MAX_MEMBERS 4096    /* members of one sample */
#define MAX_NAME (1u << 16) /* bytes of a path, and of a pax header */

/* A path is `key` "." `extension`. All positions are in the input. */
typedef struct {
    size_t key_size;
    size_t name, name_size;
    size_t data, data_size;
    int64_t number; /* the content, if is_number */
    bool is_number;
} member;

struct fr_tar {
    fr_buffer input;
    uint64_t begin; /* position of input.data in the archive */
    size_t parsed;  /* bytes of the input that are parsed */
    size_t sample;  /* start of the first header of the current sample, if there is one */
    size_t header;  /* start of the first header of the current member */
    uint64_t skip;  /* bytes of the archive to drop before more input is kept */
    uint64_t limit; /* largest sample */
    bool is_closed; /* the last header block was zero */
    /* from extended headers, for the next member */
    fr_buffer path; /* empty: the header has the path */
    bool has_size;
    uint64_t size;
    /* the current sample */
    fr_buffer names; /* paths of its members */
    fr_buffer members;
};

static bool is_zero(const uint8_t *block) {
    for (size_t i = 0; i < FR_TAR_BLOCK; i++)
        if (block[i]) return false;
    return true;
}

/* Reads a number: octal digits between spaces and zeros, or GNU's binary form. */
static bool read_number(const uint8_t *p, size_t size, uint64_t *value) {
    *value = 0;
    if (p[0] == 0x80) {
        for (size_t i = 1; i < size; i++) {
            if (*value >> 55) return false;
            *value = *value << 8 | p[i];
        }
        return true;
    }
    size_t i = 0;
    while (i < size && p[i] == ' ')
        i++;
    for (; i < size && p[i] >= '0' && p[i] <= '7'; i++)
        *value = *value << 3 | (uint64_t)(p[i] - '0');
    for (; i < size; i++)
        if (p[i] != ' ' && p[i] != 0) return false;
    return true;
}

/* Returns whether the checksum is right; some writers sum signed bytes. */
static bool is_summed(const uint8_t *block) {
    uint64_t stored;
    if (!read_number(block + 148, 8, &stored)) return false;
    uint32_t sum = 0, high = 0; /* sums of all bytes, and of their highest bits */
    for (size_t i = 0; i < FR_TAR_BLOCK; i++) {
        sum += block[i];
        high += block[i] >> 7;
    }
    for (size_t i = 148; i < 156; i++) { /* the field itself counts as spaces */
        sum += (uint32_t)' ' - block[i];
        high -= block[i] >> 7;
    }
    return stored == sum || stored == (uint64_t)sum - 256 * (uint64_t)high;
}

bool fr_tar_is_header(const uint8_t *block) {
    return memcmp(block + 257, "ustar", 5) == 0 && is_summed(block);
}

static bool is_one_of(uint8_t type, const char *types) {
    return type && strchr(types, type);
}

static size_t text_size(const uint8_t *p, size_t most) {
    const uint8_t *end = memchr(p, 0, most);
    return end ? (size_t)(end - p) : most;
}

static int damaged(const fr_tar *tar, fr_error *err, const char *cause) {
    fr_fail(err, FR_ERR_CORRUPT, "%s", cause);
    if (err) err->offset = (int64_t)(tar->begin + tar->header);
    return FR_ERR_CORRUPT;
}

/* Reads the lines "SIZE KEY=VALUE\n" of a pax header. */
static int read_pax(fr_tar *tar, fr_span text, fr_error *err) {
    while (text.size) {
        size_t size = 0, at = 0;
        while (at < text.size && at < 8 && text.data[at] >= '0' && text.data[at] <= '9')
            size = size * 10 + (size_t)(text.data[at++] - '0');
        if (at == 0 || size > text.size || size < at + 2 || text.data[at] != ' ' ||
            text.data[size - 1] != '\n')
            return damaged(tar, err, "a pax header is malformed");
        const fr_span entry = {text.data + at + 1, size - at - 2};
        if (entry.size >= 5 && memcmp(entry.data, "path=", 5) == 0) {
            tar->path.size = 0;
            FR_TRY(fr_buffer_append(&tar->path, entry.data + 5, entry.size - 5, err));
        } else if (entry.size >= 5 && memcmp(entry.data, "size=", 5) == 0) {
            tar->has_size = true;
            tar->size = 0;
            for (size_t i = 5; i < entry.size; i++) {
                if (entry.data[i] < '0' || entry.data[i] > '9' || tar->size >> 58)
                    return damaged(tar, err, "a pax header has a size that is not a number");
                tar->size = tar->size * 10 + (uint64_t)(entry.data[i] - '0');
            }
        } else if (entry.size >= 11 && memcmp(entry.data, "GNU.sparse.", 11) == 0) {
            return damaged(tar, err, "a sparse member has no content that can be read as it is");
        }
        text = fr_span_after(text, size);
    }
    return FR_OK;
}

static size_t member_count(const fr_tar *tar) {
    return tar->members.size / sizeof(member);
}

static fr_span extension_of(const fr_tar *tar, const member *m) {
    return (fr_span){tar->names.data + m->name + m->key_size + 1, m->name_size - m->key_size - 1};
}

/* Reads a decimal integer between white space. */
static bool read_integer(fr_span text, int64_t *number) {
    size_t i = 0, end = text.size;
    while (end && memchr(" \t\r\n", text.data[end - 1], 4))
        end--;
    while (i < end && memchr(" \t\r\n", text.data[i], 4))
        i++;
    const bool negative = i < end && text.data[i] == '-';
    i += negative;
    if (i == end || end - i > 18) return false;
    *number = 0;
    for (; i < end; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        *number = *number * 10 + (text.data[i] - '0');
    }
    if (negative) *number = -*number;
    return true;
}

/* The last part of an extension such as `label.cls` is the type of the content. */
static bool holds_integers(fr_span extension) {
    for (size_t i = extension.size; i > 0; i--)
        if (extension.data[i - 1] == '.') {
            extension = fr_span_after(extension, i);
            break;
        }
    static const char *const names[] = {"cls", "cls2", "class", "count", "index", "inx", "id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (extension.size == strlen(names[i]) &&
            memcmp(extension.data, names[i], extension.size) == 0)
            return true;
    return false;
}

/* Appends the current sample, if there is one, and ends it. */
static int put_sample(fr_tar *tar, fr_buffer *out, fr_error *err) {
    const size_t count = member_count(tar);
    if (count == 0) return FR_OK;
    member *members = (member *)(void *)tar->members.data;
    fr_value *values = calloc(count + 1, sizeof *values);
    if (!values) return fr_fail_nomem(err, (uint64_t)(count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        const fr_span extension = extension_of(tar, &members[i]);
        fr_span content = {tar->input.data + members[i].data, members[i].data_size};
        members[i].is_number =
            holds_integers(extension) && read_integer(content, &members[i].number);
        values[i] = (fr_value){.key = extension, .kind = FR_KIND_BYTES, .dtype = FR_BYTES};
        if (members[i].is_number) {
            values[i].kind = FR_KIND_INT64, values[i].dtype = FR_INT64;
            content = (fr_span){(const uint8_t *)&members[i].number, sizeof(int64_t)};
        }
        values[i].values = content.data;
        values[i].count = 1;
        values[i].element_size = values[i].size = content.size;
    }
    values[count] = (fr_value){.key = {(const uint8_t *)"__key__", 7},
                               .kind = FR_KIND_BYTES,
                               .dtype = FR_BYTES,
                               .values = tar->names.data + members[0].name,
                               .count = 1,
                               .element_size = members[0].key_size,
                               .size = members[0].key_size};
    int status = fr_encode_sort(values, count + 1, err);
    if (status == FR_ERR_ARG) {
        status = fr_fail(err, FR_ERR_CORRUPT, "a sample has two members of one name");
        if (err) err->offset = (int64_t)(tar->begin + tar->sample);
    } else
        status = fr_encode_rows(values, count + 1, (fr_rows){0, 1, 1}, true, out, NULL, err);
    free(values);
    tar->members.size = tar->names.size = 0;
    return status;
}

/* Finds the key and the extension of a path. Returns false for a path without them. */
static bool split_path(fr_span path, size_t *key_size) {
    size_t start = path.size;
    while (start && path.data[start - 1] != '/')
        start--;
    const fr_span file = fr_span_after(path, start);
    const uint8_t *dot = file.size ? memchr(file.data, '.', file.size) : NULL;
    if (!dot || dot == file.data || dot == file.data + file.size - 1) return false;
    if (path.size >= 4 && memcmp(path.data, "__", 2) == 0 &&
        memcmp(path.data + path.size - 2, "__", 2) == 0)
        return false;
    *key_size = (size_t)(dot - path.data);
    return true;
}

static bool has_key(const fr_tar *tar, fr_span key) {
    if (tar->members.size == 0) return false;
    const member *first = (const member *)(const void *)tar->members.data;
    return fr_span_equal((fr_span){tar->names.data + first->name, first->key_size}, key);
}

/* Returns whether a member is a record file by its name or by its first header. */
static bool is_record_file(fr_span extension, fr_span content) {
    uint64_t length;
    if (extension.size >= 5 && memcmp(extension.data, "tfrec", 5) == 0) return true;
    return content.size >= FR_HEADER_SIZE && fr_frame_header(content.data, &length);
}

/* Adds a file with `size` bytes at `data` of the input to the current sample. */
static int add_member(fr_tar *tar, fr_span path, size_t data, size_t size, size_t key_size,
                      fr_error *err) {
    member added = {.key_size = key_size,
                    .name = tar->names.size,
                    .name_size = path.size,
                    .data = data,
                    .data_size = size};
    FR_TRY(fr_buffer_append(&tar->names, path.data, path.size, err));
    for (size_t i = added.name + key_size + 1; i < tar->names.size; i++)
        if (tar->names.data[i] >= 'A' && tar->names.data[i] <= 'Z') tar->names.data[i] += 'a' - 'A';
    if (is_record_file(extension_of(tar, &added), (fr_span){tar->input.data + data, size}))
        return damaged(tar, err, "a member is a record file: extract the archive first (tar xf)");
    if (member_count(tar) == MAX_MEMBERS)
        return damaged(tar, err, "a sample has more than 4096 members");
    return fr_buffer_append(&tar->members, &added, sizeof added, err);
}

int fr_tar_new(fr_tar **tar, uint64_t max_record, fr_error *err) {
    *tar = calloc(1, sizeof **tar);
    if (!*tar) return fr_fail_nomem(err, sizeof **tar);
    (*tar)->limit = max_record && max_record < INT32_MAX ? max_record : INT32_MAX;
    return FR_OK;
}

void fr_tar_free(fr_tar *tar) {
    if (!tar) return;
    fr_buffer_free(&tar->input);
    fr_buffer_free(&tar->path);
    fr_buffer_free(&tar->names);
    fr_buffer_free(&tar->members);
    free(tar);
}

uint64_t fr_tar_position(const fr_tar *tar) {
    return tar->begin + (tar->members.size ? tar->sample : tar->header + tar->skip);
}

/* The header of one member. */
typedef struct {
    fr_span path;
    uint64_t size, padded; /* bytes of the content, and with its padding */
    uint8_t type;
} header;

static int read_header(fr_tar *tar, uint8_t *joined, header *found, fr_error *err) {
    const uint8_t *block = tar->input.data + tar->parsed;
    if (!is_summed(block)) return damaged(tar, err, "the checksum of a header is wrong");
    if (!read_number(block + 124, 12, &found->size))
        return damaged(tar, err, "the size of a member is not a number");
    found->type = block[156];
    if (tar->path.size) {
        found->path = (fr_span){tar->path.data, tar->path.size};
    } else {
        const size_t name = text_size(block, 100);
        const bool is_posix = memcmp(block + 257, "ustar\0", 6) == 0;
        const size_t prefix = is_posix ? text_size(block + 345, 155) : 0;
        if (prefix) {
            memcpy(joined, block + 345, prefix);
            joined[prefix] = '/';
        }
        memcpy(joined + prefix + (prefix > 0), block, name);
        found->path = (fr_span){joined, name + prefix + (prefix > 0)};
    }
    if (tar->has_size && !is_one_of(found->type, EXTENDED)) found->size = tar->size;
    if (is_one_of(found->type, "123456")) found->size = 0;
    if (found->size > INT64_MAX / 2) return damaged(tar, err, "the size of a member is too large");
    found->padded = (found->size + FR_TAR_BLOCK - 1) / FR_TAR_BLOCK * FR_TAR_BLOCK;
    return FR_OK;
}

/* Handles a header that describes the next member. Its content is complete. */
static int read_extended(fr_tar *tar, const header *at, fr_error *err) {
    const fr_span content = {tar->input.data + tar->parsed + FR_TAR_BLOCK, (size_t)at->size};
    if (at->type == 'x') return read_pax(tar, content, err);
    if (at->type != 'L') return FR_OK;
    tar->path.size = 0;
    return fr_buffer_append(&tar->path, content.data, text_size(content.data, content.size), err);
}

static void end_member(fr_tar *tar) {
    tar->path.size = 0;
    tar->has_size = false;
    tar->header = tar->parsed;
}

/* Checks a header before its content is read. */
static int check_member(fr_tar *tar, const header *at, bool is_sample, fr_error *err) {
    if (is_one_of(at->type, EXTENDED))
        return at->size <= MAX_NAME ? FR_OK : damaged(tar, err, "an extended header is too long");
    if (!is_sample) return FR_OK;
    if (is_one_of(at->type, "12"))
        return damaged(tar, err, "a member is a link, and the archive may not have its content");
    if (is_one_of(at->type, "SM"))
        return damaged(tar, err, "a sparse or divided member has no content that is read as it is");
    return FR_OK;
}

/* Checks that the sample with the next `size` bytes of content, from `start`, is not too long. */
static int check_limit(const fr_tar *tar, size_t start, uint64_t size, fr_error *err) {
    if (size <= tar->limit && tar->parsed - start <= tar->limit - size) return FR_OK;
    fr_fail(err, FR_ERR_LIMIT, "a sample has more than %llu bytes", (unsigned long long)tar->limit);
    if (err) err->offset = (int64_t)(tar->begin + start);
    return FR_ERR_LIMIT;
}

/* Parses one header with its content. Returns FR_AGAIN if the input ends before. */
static int step(fr_tar *tar, fr_buffer *out, fr_error *err) {
    const size_t left = tar->input.size - tar->parsed;
    if (left < FR_TAR_BLOCK) return FR_AGAIN;
    if (is_zero(tar->input.data + tar->parsed)) {
        FR_TRY(put_sample(tar, out, err));
        tar->is_closed = true;
        tar->parsed += FR_TAR_BLOCK;
        end_member(tar);
        return FR_OK;
    }
    uint8_t joined[256];
    header at;
    size_t key_size = 0;
    FR_TRY(read_header(tar, joined, &at, err));
    tar->is_closed = false;
    const bool is_extended = is_one_of(at.type, EXTENDED);
    const bool is_sample =
        !is_extended && !is_one_of(at.type, "3456VD") && split_path(at.path, &key_size);
    if (is_sample && !has_key(tar, (fr_span){at.path.data, key_size})) {
        FR_TRY(put_sample(tar, out, err));
        tar->sample = tar->header;
    }
    FR_TRY(check_member(tar, &at, is_sample, err));
    const bool is_dropped = !is_sample && !is_extended && tar->members.size == 0;
    if (!is_dropped)
        FR_TRY(check_limit(tar, tar->members.size ? tar->sample : tar->header, at.size, err));
    const bool is_whole = at.padded <= left - FR_TAR_BLOCK;
    if (!is_whole && !is_dropped) return FR_AGAIN;
    const size_t data = tar->parsed + FR_TAR_BLOCK;
    if (is_extended)
        FR_TRY(read_extended(tar, &at, err));
    else if (is_sample)
        FR_TRY(add_member(tar, at.path, data, (size_t)at.size, key_size, err));
    tar->skip = is_whole ? 0 : at.padded - (left - FR_TAR_BLOCK);
    tar->parsed = is_whole ? data + (size_t)at.padded : tar->input.size;
    if (!is_extended) end_member(tar);
    return FR_OK;
}

/* Drops the input before the current sample. */
static void compact(fr_tar *tar) {
    const size_t start = tar->members.size ? tar->sample : tar->header;
    if (start == 0) return;
    member *members = (member *)(void *)tar->members.data;
    for (size_t i = 0; i < member_count(tar); i++)
        members[i].data -= start;
    memmove(tar->input.data, tar->input.data + start, tar->input.size - start);
    tar->input.size -= start;
    tar->begin += start;
    tar->parsed -= start;
    tar->header -= start;
    tar->sample = 0;
}

/* Checks that the input has ended with the end of the archive, or is empty. */
static int check_end(const fr_tar *tar, fr_error *err) {
    if (tar->parsed == tar->input.size && (tar->is_closed || tar->begin + tar->input.size == 0))
        return FR_OK;
    fr_fail(err, FR_ERR_TRUNCATED, "the archive has no end");
    if (err) err->offset = (int64_t)(tar->begin + tar->header);
    return FR_ERR_TRUNCATED;
}

int fr_tar_feed(fr_tar *tar, fr_span piece, bool ended, fr_buffer *out, fr_error *err) {
    compact(tar);
    const size_t dropped = piece.size < tar->skip ? piece.size : (size_t)tar->skip;
    tar->skip -= dropped;
    if (dropped) {
        tar->begin += dropped; /* the input is empty while a member is skipped */
        piece = fr_span_after(piece, dropped);
    }
    FR_TRY(fr_buffer_append(&tar->input, piece.data, piece.size, err));
    int status = FR_OK;
    while (status == FR_OK)
        status = step(tar, out, err);
    if (status != FR_AGAIN) return status;
    return ended ? check_end(tar, err) : FR_OK;
}

int fr_tar_flush(fr_tar *tar, fr_buffer *out, fr_error *err) {
    if (tar->parsed == tar->input.size && tar->skip == 0) return put_sample(tar, out, err);
    fr_fail(err, FR_ERR_TRUNCATED, "the archive ends inside a member");
    if (err) err->offset = (int64_t)(tar->begin + tar->header);
    return FR_ERR_TRUNCATED;
}
