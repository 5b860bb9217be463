/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes records to a file that appears complete or not at all.
 *
 * Bytes are written to a temporary file in the target's directory. Closing writes the buffer, syncs
 * the file, renames it to the target and syncs the directory. Aborting, or any error, removes the
 * temporary file and leaves the target unchanged. A failed sync is final, because the kernel has
 * dropped the pages. Only a failure to sync the directory leaves a complete new file in place:
 * FR_FAULT_UNSYNCED.
 *
 * A writer that appends has no temporary file. It holds a lock on the file that excludes other
 * appending writers, and aborting truncates the file to its previous size. The caller must check
 * that the last record of the file is complete. If the process is killed, the bytes written so far
 * remain, up to any byte.
 *
 * A writer must not be used by several threads at once. Different writers are independent, even
 * with the same target: the file of the last one to close replaces it as a whole. A child made by
 * fork() can only abort its copy of a writer, which does not change the parent's file.
 */
#ifndef FASTREC_WRITER_H
#define FASTREC_WRITER_H

#include "format/frame.h"

typedef struct {
    bool exclusive; /* fail if the target exists when the writer closes */
    bool no_sync;   /* do not sync; the system writes the file later */
    bool append;    /* write to the file itself, after its content */
    bool empty;     /* with append: first remove the content; a lock is not required */
} fr_writer_options;

/* All-zero is a valid closed writer. */
typedef struct {
    fr_writer_options options;
    int fd;
    int64_t pid; /* process that opened the writer */
    bool open;
    char *path, *temporary;
    char *replaced; /* temporary name under which publishing kept the replaced file */
    bool in_place;
    bool was_there;                                    /* a file was replaced */
    bool created;                                      /* the file that is appended to is new */
    uint64_t target_device, target_inode, target_size; /* file to be replaced, at opening */
    int64_t target_head; /* checksum of the first bytes of that file; -1 if they cannot be read */
    uint64_t start;      /* size of the file when it was opened */
    fr_buffer buffer;
    size_t piece;      /* size of one write in bytes; 0 without a buffer */
    bool reserves;     /* reserves disk blocks before writing */
    uint64_t reserved; /* end of the reserved blocks */
    uint64_t written;  /* bytes passed to the system */
    uint64_t count;    /* records written */
    uint64_t size;     /* bytes written, including buffered ones */
    fr_error failed;   /* after an error, every call returns it again */
} fr_writer;

/* Creates the temporary file. If `path` is a symbolic link, the file that it points to is
   replaced. The new file keeps the mode of the replaced one. Returns FR_ERR_IO with EEXIST if
   the target exists and the writer is exclusive. */
FR_NODISCARD int fr_writer_open(fr_writer *writer, const char *path,
                                const fr_writer_options *options, fr_error *err);

/* Appends the frame of one record to the buffer, and writes the buffer when it is full. */
FR_NODISCARD int fr_writer_record(fr_writer *writer, fr_span data, fr_error *err);

/* Calls fr_writer_record() for each of `count` records. */
FR_NODISCARD int fr_writer_spans(fr_writer *writer, const fr_span *records, size_t count,
                                 fr_error *err);

/* Writes records to the writers in turn, the first one to number `*turn`. This reads the records
   in the order of memory, where a pass for each writer takes 1.5 times as long. Sets `*turn` to
   the writer of the next record, or to the one that failed. */
FR_NODISCARD int fr_writers_deal(fr_writer *const *writers, size_t writer_count, size_t *turn,
                                 const fr_span *records, size_t count, fr_error *err);

/* Appends bytes that already are `count` whole frames. */
FR_NODISCARD int fr_writer_frames(fr_writer *writer, fr_span frames, uint64_t count, fr_error *err);

/* Passes the buffered bytes to the system. */
FR_NODISCARD int fr_writer_flush(fr_writer *writer, fr_error *err);

/* Syncs and closes the temporary file, so that only publishing remains. This allows thousands of
   files to stay unpublished. Afterwards, nothing more can be written. */
FR_NODISCARD int fr_writer_finish(fr_writer *writer, fr_error *err);

/* Changes the path to publish to. REQUIRES: it is in the same directory. */
FR_NODISCARD int fr_writer_rename(fr_writer *writer, const char *path, fr_error *err);

/*
 * Renames the file to the target, and keeps the replaced file under another name until the writer
 * is closed. To publish several files together, first finish all of them, then put each in place.
 * If one fails, take back the earlier ones. Finally close each. Does nothing for a file that is
 * appended to.
 */
FR_NODISCARD int fr_writer_put_in_place(fr_writer *writer, fr_error *err);

/* Undoes fr_writer_put_in_place(). Returns false if the target could not be restored: a file
   system without hard links does not keep a replaced file. */
bool fr_writer_take_back(fr_writer *writer);

/* Publishes the file. On failure the target is unchanged and the temporary file is removed. The
   exception is FR_FAULT_UNSYNCED: the target is the new file, which a power failure may undo. */
FR_NODISCARD int fr_writer_close(fr_writer *writer, fr_error *err);

/* Removes the temporary file without publishing. May be called at any time, any number of times. */
void fr_writer_abort(fr_writer *writer);

#endif
