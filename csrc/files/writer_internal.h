/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the parts of the writer share: file names, and renaming files. */
#ifndef FASTREC_WRITER_INTERNAL_H
#define FASTREC_WRITER_INTERNAL_H

#include "base/platform.h"
#include "files/writer.h"

typedef struct {
    char text[FR_PATH_MAX];
} fr_path;

/* Sets a path to the first `size` bytes of `head`, followed by `tail`. Returns FR_ERR_IO with
   ENAMETOOLONG if it is too long. */
FR_NODISCARD int fr_path_set(fr_path *path, const char *head, size_t size, const char *tail,
                             fr_error *err);

FR_NODISCARD int fr_path_copy(char **out, const fr_path *path, fr_error *err);

/* Sets writer->path to the absolute path of the target, with links resolved. The process may
   change its directory before the writer closes. */
FR_NODISCARD int fr_writer_resolve(fr_writer *writer, const char *path, fr_error *err);

/* Makes a name for the temporary file in the target's directory, a different one for each
   attempt. */
FR_NODISCARD int fr_writer_name_temporary(const fr_writer *writer, int attempt, fr_path *path,
                                          fr_error *err);

/* Gets the file at the target, or FR_FILE_NONE. Fails if it cannot be replaced. */
FR_NODISCARD int fr_writer_look(const fr_writer *writer, fr_file_info *there, fr_error *err);

/* Creates the temporary file, or opens and locks the file that is appended to. */
FR_NODISCARD int fr_writer_create(fr_writer *writer, fr_error *err);

/* Returns true if the path names the open file. */
bool fr_writer_has_path(const fr_writer *writer);

/* Returns FR_ERR_IO with FR_FAULT_CHANGED if the file that is appended to was replaced or
   removed. */
FR_NODISCARD int fr_writer_check_path(const fr_writer *writer, fr_error *err);

/* Writes the file to the disk medium, not only to the disk's cache. */
FR_NODISCARD int fr_writer_sync(const fr_writer *writer, fr_error *err);

/* Renames the file to the target. If `keep`, the replaced file keeps another name. */
FR_NODISCARD int fr_writer_move(fr_writer *writer, bool keep, fr_error *err);

/* Writes the names in the file's directory to the disk. */
FR_NODISCARD int fr_writer_sync_directory(const fr_writer *writer, fr_error *err);

#endif
