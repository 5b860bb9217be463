/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the writer: names of files, and putting files under them. */
#ifndef FASTREC_WRITER_INTERNAL_H
#define FASTREC_WRITER_INTERNAL_H

#include "base/platform.h"
#include "files/writer.h"

typedef struct {
    char text[FR_PATH_MAX];
} fr_path;

/* `head`, its first `size` bytes, and `tail`. FR_ERR_IO with ENAMETOOLONG. */
FR_NODISCARD int fr_path_set(fr_path *path, const char *head, size_t size, const char *tail,
                             fr_error *err);

FR_NODISCARD int fr_path_copy(char **out, const fr_path *path, fr_error *err);

/* Sets writer->path: links followed, and from the root, for the process may go elsewhere before
   the writer closes. */
FR_NODISCARD int fr_writer_resolve(fr_writer *writer, const char *path, fr_error *err);

/* A name for the temporary file beside the target, another one for each attempt. */
FR_NODISCARD int fr_writer_name_temporary(const fr_writer *writer, int attempt, fr_path *path,
                                          fr_error *err);

/* The file at the target, or FR_FILE_NONE. Refuses what cannot be replaced. */
FR_NODISCARD int fr_writer_look(const fr_writer *writer, fr_file_info *there, fr_error *err);

/* Creates the temporary file, or opens and locks the one that is appended to. */
FR_NODISCARD int fr_writer_create(fr_writer *writer, fr_error *err);

/* True if the path names the file that is open. */
bool fr_writer_has_path(const fr_writer *writer);

/* FR_ERR_IO with FR_FAULT_CHANGED if the file that is appended to was replaced or removed. */
FR_NODISCARD int fr_writer_check_path(const fr_writer *writer, fr_error *err);

/* Has the file on the disk, not just in its cache. */
FR_NODISCARD int fr_writer_sync(const fr_writer *writer, fr_error *err);

/* Gives the file its name. With `keep`, what had it keeps another. */
FR_NODISCARD int fr_writer_move(fr_writer *writer, bool keep, fr_error *err);

/* Has the names in the file's directory on the disk. */
FR_NODISCARD int fr_writer_sync_directory(const fr_writer *writer, fr_error *err);

#endif
