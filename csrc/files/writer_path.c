/* SPDX-License-Identifier: Apache-2.0 */
#include "files/writer_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes of the target's name that the temporary file's name contains. Some file systems limit
   names to 143 bytes. */
#define NAME_KEPT 96

#define LINKS_MAX 40

/* Sets `path` to the first `size` bytes of `head`, followed by `tail`. */
int fr_path_set(fr_path *path, const char *head, size_t size, const char *tail, fr_error *err) {
    fr_path joined;
    int length = snprintf(joined.text, sizeof joined.text, "%.*s%s", (int)size, head, tail);
    if (size >= FR_PATH_MAX || length >= FR_PATH_MAX)
        return fr_fail_io(err, ENAMETOOLONG, "naming it");
    *path = joined;
    return FR_OK;
}

/* Replaces a path that is a symbolic link by the path it points to, which need not exist. */
static int follow_links(fr_path *path, fr_error *err) {
    for (int i = 0; i < LINKS_MAX; i++) {
        char target[FR_PATH_MAX];
        if (fr_file_read_link(path->text, target) != 0) {
            if (errno == ENAMETOOLONG) return fr_fail_io(err, errno, "following its link");
            return FR_OK; /* not a link; opening it reports other errors */
        }
        size_t head = fr_file_is_absolute(target) ? 0 : fr_file_folder_size(path->text);
        FR_TRY(fr_path_set(path, path->text, head, target, err));
    }
    return fr_fail_io(err, ELOOP, "following its links");
}

/* Makes a path absolute, because the process may change its directory before the writer closes. */
static int make_absolute(fr_path *path, fr_error *err) {
    fr_path directory, root;
    size_t head = fr_file_folder_size(path->text);
    if (!path->text[head]) return fr_fail_io(err, head ? EISDIR : ENOENT, "creating it");
    FR_TRY(fr_path_set(&directory, path->text, head, ".", err));
    if (fr_file_real_path(directory.text, root.text) != 0)
        return fr_fail_io(err, errno, "finding its place");
    const char *slash = root.text[1] ? "/" : "";
    FR_TRY(fr_path_set(&directory, slash, strlen(slash), path->text + head, err));
    return fr_path_set(path, root.text, strlen(root.text), directory.text, err);
}

int fr_path_copy(char **out, const fr_path *path, fr_error *err) {
    *out = strdup(path->text);
    return *out ? FR_OK : fr_fail_nomem(err, strlen(path->text) + 1);
}

int fr_writer_resolve(fr_writer *writer, const char *path, fr_error *err) {
    fr_path resolved;
    FR_TRY(fr_path_set(&resolved, path, strlen(path), "", err));
    FR_TRY(follow_links(&resolved, err));
    FR_TRY(make_absolute(&resolved, err));
    return fr_path_copy(&writer->path, &resolved, err);
}

/* Returns a number that is unlikely to be in use. It need not be secret, because O_EXCL detects
   a collision. */
static uint64_t random_name(const fr_writer *writer, int attempt) {
    uint64_t x = fr_clock_date_ns();
    x ^= (uint64_t)fr_process_id() << 32 ^ (uint64_t)(uintptr_t)writer ^ (uint64_t)attempt << 56;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Makes `.name.0123456789abcdef.tmp` in the target's directory. A long name is cut between two
   characters. */
int fr_writer_name_temporary(const fr_writer *writer, int attempt, fr_path *path, fr_error *err) {
    size_t head = fr_file_folder_size(writer->path);
    const char *name = writer->path + head;
    size_t kept = strlen(name);
    if (kept > NAME_KEPT) kept = NAME_KEPT;
    while (kept > 0 && (name[kept] & 0xc0) == 0x80)
        kept--;
    char tail[NAME_KEPT + 32];
    snprintf(tail, sizeof tail, ".%.*s.%016llx.tmp", (int)kept, name,
             (unsigned long long)random_name(writer, attempt));
    return fr_path_set(path, writer->path, head, tail, err);
}
