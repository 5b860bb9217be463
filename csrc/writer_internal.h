/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files, as the writer uses them. For the files of the writer alone. */
#ifndef FASTREC_WRITER_INTERNAL_H
#define FASTREC_WRITER_INTERNAL_H

#include "writer.h"

#include <limits.h>

typedef struct {
    char text[PATH_MAX];
} fr_path;

/* `head`, its first `size` bytes, and `tail`. FR_ERR_IO with ENAMETOOLONG. */
FR_NODISCARD int fr_path_set(fr_path *path, const char *head, size_t size, const char *tail,
                             fr_error *err);

/* How many bytes of `path` come before the name of the file. */
size_t fr_path_directory(const char *path);

FR_NODISCARD int fr_path_copy(char **out, const fr_path *path, fr_error *err);

/* Sets writer->path: links followed, and from the root, for the process may go elsewhere before
   the writer closes. */
FR_NODISCARD int fr_writer_resolve(fr_writer *writer, const char *path, fr_error *err);

/* A name for the temporary file beside the target, another one for each attempt. */
FR_NODISCARD int fr_writer_name_temporary(const fr_writer *writer, int attempt, fr_path *path,
                                          fr_error *err);

#endif
