# SPDX-License-Identifier: Apache-2.0
# The headers of csrc/, once more, in their order and spelling; no logic.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "<stdatomic.h>" nogil:
    ctypedef bint atomic_bool

cdef extern from "base/status.h" nogil:
    enum:
        FR_OK
        FR_END
        FR_AGAIN
        FR_ERR_NOMEM
        FR_ERR_IO
        FR_ERR_CORRUPT
        FR_ERR_TRUNCATED
        FR_ERR_LIMIT
        FR_ERR_MALFORMED
        FR_ERR_SCHEMA
        FR_ERR_ARG
        FR_ERR_STATE
        FR_ERR_INDEX
        FR_ERR_MANIFEST

    ctypedef enum fr_fault:
        FR_FAULT_NONE
        FR_FAULT_UNSYNCED
        FR_FAULT_CHANGED
        FR_FAULT_LOCKED
        FR_FAULT_GROWN

    ctypedef struct fr_error:
        int status
        fr_fault fault
        int sys_errno
        int64_t file
        int64_t record
        int64_t offset
        int64_t frame
        uint64_t length
        uint32_t stored_crc
        uint32_t computed_crc
        char feature[128]
        char cause[192]
        char hint[160]

    int fr_check_process(int64_t pid, const char *what, fr_error *err) noexcept
    const char *fr_fault_name(fr_fault fault) noexcept


cdef extern from "base/platform.h" nogil:
    uint64_t fr_thread_cpu_ns() noexcept
    uint64_t fr_thread_starved_ns() noexcept
    void fr_thread_pause(uint32_t us) noexcept
    uint64_t fr_clock_ns() noexcept
    void fr_memory_use_huge(void *data, size_t size) noexcept
    int fr_file_rename(const char *old, const char *new_, bint replace) noexcept


cdef extern from "base/bytes.h" nogil:
    ctypedef struct fr_span:
        const uint8_t *data
        size_t size

    ctypedef struct fr_buffer:
        uint8_t *data
        size_t size
        size_t capacity

    int fr_buffer_reserve(fr_buffer *buffer, size_t extra, fr_error *err) noexcept
    int fr_buffer_append(fr_buffer *buffer, const void *data, size_t size, fr_error *err) noexcept
    void fr_buffer_free(fr_buffer *buffer) noexcept


cdef extern from "format/crc32c.h" nogil:
    ctypedef struct fr_crc32c_impl:
        const char *name
        bint (*supported)() noexcept nogil
        uint32_t (*extend)(uint32_t crc, const uint8_t *data, size_t size) noexcept nogil
        uint32_t (*extend_copy)(
            uint32_t crc, uint8_t *dst, const uint8_t *data, size_t size) noexcept nogil

    const fr_crc32c_impl fr_crc32c_impls[]
    const fr_crc32c_impl *fr_crc32c_chosen() noexcept
    uint32_t fr_crc32c_extend(uint32_t crc, const uint8_t *data, size_t size) noexcept


cdef extern from "format/riegeli.h" nogil:
    ctypedef struct fr_riegeli_chunk:
        uint64_t begin
        uint64_t end
        uint64_t records
        uint64_t size
        uint64_t data_size
        size_t data
        uint8_t kind

    ctypedef struct fr_riegeli_options:
        uint64_t begin
        uint64_t file_size
        uint64_t most
        bint headers

    uint64_t fr_riegeli_hash(fr_span data) noexcept
    int fr_riegeli_read(
        uint8_t *window, size_t size, const fr_riegeli_options *options, fr_riegeli_chunk *chunks,
        size_t most, size_t *count, uint64_t *wanted, fr_error *err) noexcept
    void fr_riegeli_place(fr_riegeli_chunk *chunk, fr_span data) noexcept
    void fr_riegeli_write(const fr_riegeli_chunk *chunk, fr_span data, uint8_t *out) noexcept


cdef extern from "format/riegeli_records.h" nogil:
    int fr_riegeli_number(
        fr_span *rest, uint64_t most, const char *what, uint64_t *value, fr_error *err) noexcept
    int fr_riegeli_take(
        fr_span *rest, uint64_t size, const char *what, fr_span *part, fr_error *err) noexcept
    int fr_riegeli_open(
        uint8_t compression, fr_span stored, uint64_t most, fr_span *content, size_t *size,
        fr_error *err) noexcept
    int fr_riegeli_offsets(
        fr_span sizes, uint64_t count, size_t size, size_t **offsets, fr_error *err) noexcept


cdef extern from "format/riegeli_transposed.h" nogil:
    ctypedef struct fr_riegeli_transposed:
        fr_span header
        const fr_span *buckets
        size_t bucket_count
        uint64_t buffer_count
        fr_span transitions

    int fr_riegeli_transposed_run(
        const fr_riegeli_transposed *chunk, size_t count, size_t size, uint8_t *out,
        size_t *offsets, fr_error *err) noexcept


cdef extern from "format/frame.h" nogil:
    size_t FR_FRAME_OVERHEAD
    size_t FR_HEADER_SIZE

    ctypedef struct fr_frame_options:
        bint verify
        uint64_t max_record

    uint32_t fr_crc_mask(uint32_t crc) noexcept
    void fr_frame_put(uint8_t *p, fr_span data) noexcept


cdef extern from "format/deflate.h" nogil:
    ctypedef struct fr_deflate:
        uint64_t bits
        uint64_t output
        uint64_t stop
        uint64_t every

    int fr_deflate_walk(fr_deflate *walk, fr_span input, bint last, fr_error *err) noexcept


cdef extern from "files/file_map.h" nogil:
    ctypedef struct fr_file_map_entry:
        pass

    ctypedef struct fr_file_stamp:
        uint64_t size
        int64_t mtime_ns

    ctypedef struct fr_file_map:
        fr_span bytes
        fr_file_stamp stamp
        fr_file_map_entry *entry

    int fr_file_map_stat(const char *path, fr_file_stamp *stamp, fr_error *err) noexcept
    int fr_file_head(const char *path, void *head, size_t *size, fr_error *err) noexcept


cdef extern from "files/source.h" nogil:
    ctypedef struct fr_source:
        int fd
        fr_span window
        uint64_t offset
        bint ended
        bint reads
        bint seekable
        bint stalls
        fr_file_map map

    const fr_source FR_SOURCE_FED

    int fr_source_open(fr_source *source, const char *path, fr_error *err) noexcept
    int fr_source_follow(fr_source *source, const char *path, fr_error *err) noexcept
    int fr_source_seek(fr_source *source, uint64_t offset, fr_error *err) noexcept
    void fr_source_show_all(fr_source *source) noexcept
    void fr_source_release(fr_source *source) noexcept
    int fr_source_feed(fr_source *source, fr_span bytes, fr_error *err) noexcept


cdef extern from "files/index.h" nogil:
    ctypedef struct fr_index:
        uint64_t count
        bint gaps

    int fr_index_set(fr_index *index, const uint64_t *offsets, uint64_t count, uint64_t size,
                     bint gaps, fr_error *err) noexcept
    int fr_index_end(fr_index *index, uint64_t end, bint gaps, fr_error *err) noexcept
    int fr_index_copy(const fr_index *index, fr_index *copy, fr_error *err) noexcept
    void fr_index_bounds(const fr_index *index, const uint64_t *records, size_t count,
                         uint64_t *begins, uint64_t *ends) noexcept
    uint64_t fr_index_find(const fr_index *index, uint64_t offset) noexcept
    int fr_index_offsets(const fr_index *index, fr_buffer *offsets, fr_error *err) noexcept
    int fr_index_save(const fr_index *index, const fr_file_stamp *stamp, fr_buffer *out,
                      fr_error *err) noexcept
    int fr_index_load(fr_index *index, fr_span file, fr_file_stamp *stamp, fr_error *err) noexcept
    int fr_index_compare(const fr_index *index, const fr_file_stamp *made, const char *path,
                         const fr_file_stamp *now, fr_error *err) noexcept
    void fr_index_free(fr_index *index) noexcept


cdef extern from "files/reader.h" nogil:
    ctypedef struct fr_record:
        fr_span data
        uint64_t offset

    ctypedef struct fr_skipped:
        uint64_t begin
        uint64_t end
        bint searched
        bint whole
        bint ambiguous

    ctypedef struct fr_reader:
        fr_source source
        fr_frame_options options
        uint64_t count
        uint64_t stop
        fr_error failed
        bint looks_ahead
        uint64_t credit
        fr_index *index

    int fr_reader_next(fr_reader *reader, fr_record *record, fr_error *err) noexcept
    int fr_reader_peek(fr_reader *reader, fr_record *record, fr_error *err) noexcept
    int fr_reader_copy(fr_reader *reader, const fr_record *record, uint8_t *dst,
                       fr_error *err) noexcept
    void fr_reader_stage(fr_reader *reader) noexcept
    bint fr_reader_is_near(const fr_reader *reader) noexcept
    int fr_reader_find(fr_reader *reader, fr_error *err) noexcept
    int fr_reader_fill(fr_reader *reader, fr_error *err) noexcept
    int fr_reader_take(fr_reader *reader, size_t count, size_t size, fr_buffer *data,
                       fr_buffer *offsets, size_t *taken, fr_error *err) noexcept
    int fr_reader_walk(fr_reader *reader, uint64_t count, size_t size, uint64_t *walked,
                       fr_error *err) noexcept
    int fr_reader_skip(fr_reader *reader, fr_skipped *skipped, fr_error *err) noexcept
    int fr_reader_check(fr_reader *reader, fr_error *err) noexcept
    void fr_reader_close(fr_reader *reader) noexcept


cdef extern from "files/dataset.h" nogil:
    enum:
        FR_DATASET_AT_ONCE

    ctypedef struct fr_dataset_file:
        fr_file_stamp stamp
        fr_file_map map
        fr_index index
        uint64_t first
        bint listed

    ctypedef struct fr_dataset_span:
        fr_span frame
        uint64_t record
        uint64_t offset
        uint32_t file

    ctypedef struct fr_dataset_maps:
        pass

    ctypedef struct fr_dataset_listed:
        uint64_t size
        uint64_t count

    ctypedef struct fr_dataset:
        fr_dataset_file *files
        size_t file_count
        size_t indexed
        uint64_t count
        fr_frame_options options
        size_t limit
        fr_dataset_maps *maps
        bint reads
        fr_dataset_span *spans
        const fr_dataset_listed *listed
        bint looks_beside

    ctypedef struct fr_dataset_hold:
        size_t count
        const atomic_bool *stop
        fr_buffer frames

    ctypedef struct fr_dataset_place:
        pass

    int fr_dataset_open(fr_dataset *dataset, const char *const *paths, size_t count,
                        const fr_frame_options *options, fr_error *err) noexcept
    void fr_dataset_open_spans(fr_dataset *dataset, fr_dataset_span *spans, uint64_t count,
                               const fr_frame_options *options) noexcept
    int fr_dataset_tell(fr_dataset *dataset, size_t number, fr_index *index,
                        const fr_file_stamp *stamp, fr_error *err) noexcept
    int fr_dataset_use_beside(fr_dataset *dataset, size_t number, fr_error *err) noexcept
    int fr_dataset_copy_index(const fr_dataset *dataset, size_t number, fr_index *copy,
                              fr_error *err) noexcept
    int fr_dataset_scan(fr_dataset *dataset, uint64_t limit, fr_error *err) noexcept
    size_t fr_dataset_find(const fr_dataset *dataset, uint64_t number) noexcept
    int fr_dataset_resolve(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                           fr_dataset_place *places, fr_dataset_hold *hold,
                           fr_error *err) noexcept
    bint fr_dataset_is_near(const fr_dataset *dataset, const fr_dataset_place *place) noexcept
    void fr_dataset_fetch(const fr_dataset *dataset, const fr_dataset_place *places,
                          size_t count) noexcept
    int fr_dataset_peek(const fr_dataset *dataset, const fr_dataset_place *place,
                        fr_record *record, fr_error *err) noexcept
    void fr_dataset_expect(const fr_dataset *dataset, uint64_t number) noexcept
    int fr_dataset_records(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                           fr_record *records, fr_dataset_hold *hold, fr_error *err) noexcept
    int fr_dataset_copy(const fr_dataset *dataset, uint64_t number, const fr_record *record,
                        uint8_t *dst, fr_error *err) noexcept
    int fr_dataset_take(const fr_dataset *dataset, const uint64_t *numbers, size_t count,
                        fr_buffer *data, fr_buffer *offsets, fr_error *err) noexcept
    int fr_dataset_check(const fr_dataset *dataset, uint64_t number, fr_error *err) noexcept
    void fr_dataset_let_go(const fr_dataset *dataset, fr_dataset_hold *hold) noexcept
    void fr_dataset_locate(const fr_dataset *dataset, uint64_t number, fr_error *err) noexcept
    void fr_dataset_close(fr_dataset *dataset) noexcept


cdef extern from "files/parallel_index.h" nogil:
    ctypedef struct fr_parallel_index:
        pass

    bint fr_parallel_index_pays(const fr_dataset *dataset) noexcept
    int fr_parallel_index_start(fr_dataset *dataset, size_t threads, fr_parallel_index **scan, fr_error *err) noexcept
    int fr_parallel_index_wait(fr_parallel_index *scan, int timeout_ms, fr_error *err) noexcept
    void fr_parallel_index_free(fr_parallel_index *scan) noexcept


cdef extern from "files/pieces.h" nogil:
    ctypedef struct fr_piece:
        uint64_t offset
        uint32_t size
        uint32_t crc
        uint64_t file

    int fr_pieces_read(const fr_piece *pieces, size_t count, const int *fds, uint8_t *out,
                       fr_error *err) noexcept
    int fr_pieces_find(fr_span list, uint64_t offset, uint32_t each, fr_buffer *pieces,
                       fr_error *err) noexcept


cdef extern from "files/writer.h" nogil:
    ctypedef struct fr_writer_options:
        bint exclusive
        bint no_sync
        bint append
        bint empty

    ctypedef struct fr_writer:
        int64_t pid
        bint open
        char *path
        char *temporary
        uint64_t start
        fr_buffer buffer
        uint64_t count
        uint64_t size

    int fr_writer_open(fr_writer *writer, const char *path, const fr_writer_options *options,
                       fr_error *err) noexcept
    int fr_writer_record(fr_writer *writer, fr_span data, fr_error *err) noexcept
    int fr_writer_spans(fr_writer *writer, const fr_span *records, size_t count,
                        fr_error *err) noexcept
    int fr_writers_deal(fr_writer *const *writers, size_t writer_count, size_t *turn,
                        const fr_span *records, size_t count, fr_error *err) noexcept
    int fr_writer_frames(fr_writer *writer, fr_span frames, uint64_t count,
                         fr_error *err) noexcept
    int fr_writer_flush(fr_writer *writer, fr_error *err) noexcept
    int fr_writer_finish(fr_writer *writer, fr_error *err) noexcept
    int fr_writer_rename(fr_writer *writer, const char *path, fr_error *err) noexcept
    int fr_writer_put_in_place(fr_writer *writer, fr_error *err) noexcept
    bint fr_writer_take_back(fr_writer *writer) noexcept
    int fr_writer_close(fr_writer *writer, fr_error *err) noexcept
    void fr_writer_abort(fr_writer *writer) noexcept


cdef extern from "format/dtype.h" nogil:
    ctypedef enum fr_dtype:
        FR_BOOL
        FR_INT8
        FR_UINT8
        FR_INT16
        FR_UINT16
        FR_INT32
        FR_UINT32
        FR_INT64
        FR_UINT64
        FR_FLOAT16
        FR_FLOAT32
        FR_FLOAT64
        FR_COMPLEX64
        FR_COMPLEX128
        FR_BYTES

    size_t fr_dtype_size(fr_dtype dtype) noexcept


cdef extern from "example/schema.h" nogil:
    ctypedef enum fr_kind:
        FR_KIND_NONE
        FR_KIND_BYTES
        FR_KIND_FLOAT
        FR_KIND_INT64

    ctypedef enum fr_fit:
        FR_FIT_NONE
        FR_FIT_PAD
        FR_FIT_CROP_OR_PAD

    ctypedef enum fr_extent_kind:
        FR_EXTENT_FIXED
        FR_EXTENT_ONE
        FR_EXTENT_ALL

    ctypedef struct fr_extent:
        fr_extent_kind kind
        size_t value

    ctypedef struct fr_feature:
        fr_span key
        fr_kind kind
        fr_dtype dtype
        bint ragged
        bint raw
        bint swap
        bint frames
        bint presence
        size_t count
        fr_span fallback
        fr_fit fit
        size_t rank
        size_t *target
        fr_extent *extent

    ctypedef struct fr_schema:
        fr_feature *features
        size_t count
        bint skips

    int fr_schema_init(fr_schema *schema, const fr_feature *features, size_t count,
                       fr_error *err) noexcept
    bint fr_schema_has_seen(const fr_schema *schema, size_t number) noexcept
    void fr_schema_free(fr_schema *schema) noexcept


cdef extern from "example/columns.h" nogil:
    ctypedef struct fr_column:
        size_t dense
        fr_buffer values
        fr_buffer offsets
        fr_buffer splits
        fr_buffer frames

    ctypedef struct fr_misfit:
        size_t number
        fr_error error

    ctypedef struct fr_columns:
        const fr_schema *schema
        fr_column *columns
        size_t column_count
        fr_buffer dense
        size_t rows
        fr_buffer misfits

    size_t fr_columns_records(const fr_columns *columns) noexcept
    int fr_columns_dense_size(const fr_schema *schema, size_t capacity, size_t *size,
                              fr_error *err) noexcept
    bint fr_feature_is_dense(const fr_feature *feature) noexcept


cdef extern from "base/strings.h" nogil:
    bint fr_strings_valid(
        const int64_t *offsets, size_t step, size_t count, size_t size) noexcept
    void fr_strings_take(const uint8_t *data, const int64_t *offsets, const int64_t *order,
                         size_t count, const int64_t *begins, uint8_t *out) noexcept
    void fr_strings_pad(const uint8_t *data, const int64_t *offsets, const int64_t *splits,
                        size_t rows, size_t width, fr_span filler, int64_t *begins,
                        uint8_t *out) noexcept
    void fr_strings_join(const fr_span *strings, size_t count, int64_t *begins,
                         uint8_t *out) noexcept
    void fr_strings_fit(const fr_span *strings, size_t count, size_t width, uint8_t *out) noexcept


cdef extern from "base/padding.h" nogil:
    ctypedef struct fr_padding:
        size_t rank
        const int64_t *sizes
        const size_t *steps
        const uint8_t *fill
        size_t item

    bint fr_padding_valid(const fr_padding *padding, const int64_t *begins, const int64_t *shapes,
                          size_t rows, size_t count) noexcept
    void fr_padding_fill(const fr_padding *padding, const uint8_t *src, const int64_t *begins,
                         const int64_t *shapes, size_t rows, uint8_t *out) noexcept


cdef extern from "example/sparse_indices.h" nogil:
    int64_t fr_sparse_indices(const int64_t *splits, size_t rows, int64_t *indices) noexcept
    void fr_sparse_nested_indices(const int64_t *records, size_t count, const int64_t *splits,
                                  int64_t *indices, int64_t *widest) noexcept


cdef extern from "example/sequence.h" nogil:
    ctypedef struct fr_sequence_parser:
        pass

    int fr_sequence_parser_init(fr_sequence_parser *parser, const fr_schema *context,
                                const fr_schema *lists, fr_error *err) noexcept
    int fr_sequence_parse_rows(fr_sequence_parser *parser, const fr_span *records, size_t count,
                               fr_columns *context, fr_columns *lists, fr_error *err) noexcept
    void fr_sequence_parser_free(fr_sequence_parser *parser) noexcept


cdef extern from "base/shared.h" nogil:
    bint fr_shared_exchange(int64_t *word, int64_t expected, int64_t desired) noexcept

cdef extern from "base/permutation.h" nogil:
    ctypedef struct fr_permutation:
        pass

    void fr_permutation_init(fr_permutation *permutation, uint64_t count, uint64_t seed,
                             uint64_t epoch) noexcept
    uint64_t fr_permutation_at(const fr_permutation *permutation, uint64_t position) noexcept
    uint64_t fr_permutation_find(const fr_permutation *permutation, uint64_t number) noexcept


cdef extern from "example/event.h" nogil:
    ctypedef struct fr_event_place:
        uint32_t offset
        uint32_t size

    ctypedef struct fr_event_value:
        double wall_time
        int64_t step
        double number
        uint32_t record
        uint32_t kind
        fr_event_place tag
        fr_event_place plugin
        fr_event_place payload

    int fr_event_parse(fr_span record, uint32_t number, fr_buffer *values, fr_error *err) noexcept
    size_t fr_event_count(const fr_buffer *values) noexcept
    const fr_event_value *fr_event_at(const fr_buffer *values, size_t index) noexcept


cdef extern from "example/infer.h" nogil:
    ctypedef struct fr_sighting:
        size_t key
        size_t key_size
        uint64_t *records
        uint64_t *first
        uint64_t present
        uint64_t fewest
        uint64_t most
        uint64_t least_frames
        uint64_t most_frames

    ctypedef struct fr_infer:
        fr_buffer keys
        uint64_t records
        uint64_t seed

    int fr_infer_add(fr_infer *context, fr_infer *lists, fr_span record, fr_error *err) noexcept
    void fr_infer_settle(fr_infer *infer) noexcept
    size_t fr_infer_count(const fr_infer *infer) noexcept
    const fr_sighting *fr_infer_sighting(const fr_infer *infer, size_t number) noexcept
    void fr_infer_free(fr_infer *infer) noexcept


cdef extern from "files/readahead.h" nogil:
    ctypedef struct fr_readahead:
        pass


cdef extern from "batch/gather.h" nogil:
    int fr_gather_batch(const fr_dataset *dataset, const fr_schema *schema, fr_readahead *ahead,
                        const uint64_t *numbers, size_t rows, size_t threads, fr_columns *columns,
                        fr_error *err) noexcept


cdef extern from "example/parallel_parse.h" nogil:
    cdef enum:
        FR_PARALLEL_PARSE_BYTES
        FR_PARALLEL_PARSE_MAX

    int fr_parallel_parse(const fr_schema *schema, const fr_span *records, size_t count,
                      size_t threads, fr_columns *columns, fr_error *err) noexcept


cdef extern from "format/varint.h" nogil:
    ctypedef struct fr_varint_impl:
        const char *name
        bint (*supported)() noexcept nogil

    const fr_varint_impl fr_varint_impls[]
    const fr_varint_impl *fr_varint_chosen() noexcept


cdef extern from "example/encode.h" nogil:
    ctypedef struct fr_value:
        fr_span key
        fr_kind kind
        fr_dtype dtype
        const uint8_t *values
        const int64_t *splits
        const int64_t *offsets
        size_t count
        size_t element_size
        size_t size
        size_t elements
        const uint8_t *present

    ctypedef struct fr_rows:
        size_t begin
        size_t end
        size_t step

    void fr_value_clear(fr_value *value) noexcept
    int fr_encode_sort(fr_value *values, size_t count, fr_error *err) noexcept
    int fr_encode_check(const fr_value *values, size_t count, fr_rows rows,
                        fr_error *err) noexcept
    int fr_encode_rows(const fr_value *values, size_t count, fr_rows rows, bint framed,
                       fr_buffer *out, fr_buffer *offsets, fr_error *err) noexcept
    int fr_encode_sequence(const fr_value *context, size_t context_count, const fr_value *lists,
                           const size_t *steps, size_t list_count, fr_buffer *out,
                           fr_error *err) noexcept


cdef extern from "example/tar.h" nogil:
    ctypedef struct fr_tar:
        pass

    bint fr_tar_is_header(const uint8_t *block) noexcept
    int fr_tar_new(fr_tar **tar, uint64_t max_record, fr_error *err) noexcept
    void fr_tar_free(fr_tar *tar) noexcept
    uint64_t fr_tar_position(const fr_tar *tar) noexcept
    int fr_tar_feed(fr_tar *tar, fr_span piece, bint ended, fr_buffer *out, fr_error *err) noexcept
    int fr_tar_flush(fr_tar *tar, fr_buffer *out, fr_error *err) noexcept


cdef extern from "example/parallel_encode.h" nogil:
    ctypedef struct fr_parallel_encode:
        pass

    size_t fr_parallel_encode_threads(const fr_value *values, size_t count, fr_rows rows,
                           size_t cpus) noexcept
    int fr_parallel_encode_start(const fr_value *values, size_t count, fr_rows rows, size_t threads,
                      fr_parallel_encode **encode, fr_error *err) noexcept
    int fr_parallel_encode_next(fr_parallel_encode *encode, fr_span *frames, size_t *records, fr_error *err) noexcept
    void fr_parallel_encode_free(fr_parallel_encode *encode) noexcept
    int fr_parallel_encode_whole(const fr_value *values, size_t count, fr_rows rows, size_t threads,
                      fr_buffer *out, fr_buffer *offsets, fr_error *err) noexcept


cdef extern from "base/philox.h" nogil:
    ctypedef struct fr_philox:
        unsigned used

    void fr_philox_init(fr_philox *philox, uint64_t seed, uint64_t seed2) noexcept
    void fr_philox_seek(fr_philox *philox, uint64_t number) noexcept
    uint32_t fr_philox_next(fr_philox *philox) noexcept


cdef extern from "image/augment.h" nogil:
    ctypedef struct fr_augment:
        size_t height
        size_t width
        size_t channels
        size_t out_height
        size_t out_width
        bint random_crop
        bint flip
        float brightness
        float contrast_low
        float contrast_high
        bint standardize
        uint64_t seed

    int fr_augment_check(const fr_augment *augment, fr_error *err) noexcept
    int fr_augment_floats(const fr_augment *augment, const uint8_t *images,
                          const uint64_t *keys, size_t count, float *out, fr_error *err) noexcept
    void fr_augment_bytes(const fr_augment *augment, const uint8_t *images,
                          const uint64_t *keys, size_t count, uint8_t *out) noexcept


cdef extern from "image/image_ops.h" nogil:
    ctypedef struct fr_image_op:
        size_t height
        size_t width
        size_t channels
        int64_t row_step
        int64_t column_step
        int64_t channel_step
        bint bytes
        const uint8_t *mirror
        const float *brightness
        const float *contrast
        bint standardize

    int fr_image_ops_apply(const fr_image_op *distortion, const uint8_t *source,
                   const int64_t *offsets, size_t count, float *out, fr_error *err) noexcept


cdef extern from "batch/interleave.h" nogil:
    ctypedef struct fr_interleave:
        pass

    int fr_interleave_init(fr_interleave *interleave, const uint64_t *counts, size_t files, size_t width,
                      fr_error *err) noexcept
    void fr_interleave_free(fr_interleave *interleave) noexcept


cdef extern from "batch/alias.h" nogil:
    ctypedef struct fr_alias_slot:
        uint64_t threshold
        uint64_t alias

    int fr_alias_build(const double *weights, uint64_t count, fr_alias_slot *slots,
                       fr_error *err) noexcept


cdef extern from "batch/order.h" nogil:
    ctypedef enum fr_shuffle:
        FR_SHUFFLE_NONE
        FR_SHUFFLE_RECORDS
        FR_SHUFFLE_BLOCKS
        FR_SHUFFLE_BUFFER

    ctypedef enum fr_uneven:
        FR_UNEVEN_LONGER
        FR_UNEVEN_DROP
        FR_UNEVEN_PAD

    ctypedef struct fr_mix_part:
        uint64_t first
        uint64_t count
        uint64_t weight

    ctypedef struct fr_mix_stage:
        uint64_t first
        const uint64_t *weights

    ctypedef struct fr_order:
        uint64_t count
        fr_shuffle shuffle
        uint64_t seed
        bint same_order
        uint64_t first_epoch
        uint64_t epochs
        uint64_t start
        uint64_t shard_index
        uint64_t shard_count
        uint64_t batch_size
        uint64_t deal
        bint drop_remainder
        bint batch_across_epochs
        fr_uneven uneven
        uint64_t block
        uint64_t window
        uint64_t virtual_shards
        uint64_t buffer
        const fr_interleave *interleave
        const fr_mix_part *parts
        size_t part_count
        uint64_t mixed
        const fr_mix_stage *stages
        size_t stage_count
        const fr_alias_slot *weighted
        const uint64_t *selected
        uint64_t records

    ctypedef struct fr_slice:
        uint64_t epoch
        uint64_t first
        uint64_t rows

    ctypedef struct fr_blocks:
        uint64_t rows
        uint64_t count
        uint64_t larger
        uint64_t size

    int fr_order_check(const fr_order *order, fr_error *err) noexcept
    fr_blocks fr_order_blocks(const fr_order *order) noexcept
    uint64_t fr_order_records(const fr_order *order) noexcept
    uint64_t fr_order_epoch_size(const fr_order *order) noexcept
    uint64_t fr_order_mixed_size(const fr_mix_part *parts, size_t count, bint until_last) noexcept
    uint64_t fr_order_shard_size(const fr_order *order) noexcept
    uint64_t fr_order_epoch_rows(const fr_order *order, uint64_t epoch) noexcept
    uint64_t fr_order_batches(const fr_order *order) noexcept
    int fr_order_slice(const fr_order *order, uint64_t serial, fr_slice *slice) noexcept


cdef extern from "batch/sampler.h" nogil:
    ctypedef struct fr_sampler:
        const fr_order *order

    int fr_sampler_init(fr_sampler *sampler, const fr_order *order, fr_error *err) noexcept
    void fr_sampler_numbers(fr_sampler *sampler, const fr_slice *slice, uint64_t *numbers) noexcept
    ctypedef struct fr_sampler_list:
        uint64_t *blocks
        uint64_t count

    fr_sampler_list fr_sampler_take_left(fr_sampler *sampler) noexcept
    int fr_sampler_passes(const fr_order *order, const fr_slice *slice, uint64_t *passes,
                         fr_error *err) noexcept
    void fr_sampler_free(fr_sampler *sampler) noexcept


cdef extern from "batch/pool.h" nogil:
    ctypedef struct fr_pool:
        pass

    int fr_pool_new(fr_schema *schema, size_t keep, fr_pool **pool, fr_error *err) noexcept
    const fr_schema *fr_pool_schema(const fr_pool *pool) noexcept
    int fr_pool_take(fr_pool *pool, size_t capacity, fr_columns **columns, fr_error *err) noexcept
    int fr_pool_lend(fr_pool *pool, void *data, size_t size, fr_error *err) noexcept
    void fr_pool_give(fr_pool *pool, fr_columns *columns) noexcept
    void fr_pool_release(fr_pool *pool) noexcept
    size_t fr_pool_taken(const fr_pool *pool) noexcept


cdef extern from "base/task_ring.h" nogil:
    ctypedef struct fr_task_ring_times:
        uint64_t consumer_ns
        uint64_t room_ns
        uint64_t tasks_ns
        uint64_t blocked_ns
        uint64_t starved_ns
        size_t done

    ctypedef struct fr_task_span:
        size_t member
        size_t number
        uint64_t began_ns
        uint64_t ended_ns

    enum:
        FR_TASK_SPANS


cdef extern from "batch/loader.h" nogil:
    ctypedef struct fr_loader:
        pass

    ctypedef struct fr_loader_options:
        const fr_dataset *dataset
        fr_pool *pool
        fr_order order
        size_t threads
        size_t prefetch
        uint64_t start
        bint retires

    const uint64_t *fr_loader_numbers(const fr_loader *loader) noexcept

    ctypedef struct fr_loader_stats:
        uint64_t batches
        uint64_t bytes
        fr_task_ring_times times

    int fr_loader_start(const fr_loader_options *options, fr_loader **loader,
                        fr_error *err) noexcept
    int fr_loader_next(fr_loader *loader, int timeout_ms, fr_columns **batch,
                       fr_error *err) noexcept
    void fr_loader_get_stats(fr_loader *loader, fr_loader_stats *stats) noexcept
    size_t fr_loader_get_spans(fr_loader *loader, fr_task_span *spans) noexcept
    void fr_loader_free(fr_loader *loader) noexcept


cdef extern from "batch/row_plan.h" nogil:
    ctypedef enum fr_fit_rows:
        FR_FIT_BEST
        FR_FIT_FIRST
        FR_FIT_SPLIT

    ctypedef enum fr_overlong:
        FR_OVERLONG_SPLIT
        FR_OVERLONG_DROP
        FR_OVERLONG_ERROR

    ctypedef struct fr_segment:
        uint32_t document
        uint32_t begin
        uint32_t length

    ctypedef struct fr_row_options:
        uint32_t length
        uint32_t max_segments
        fr_fit_rows fit
        fr_overlong overlong
        uint64_t seed

    ctypedef struct fr_row_plan:
        fr_buffer segments
        fr_buffer splits
        uint64_t tokens
        uint32_t rows

    int fr_row_plan_make(fr_row_plan *plan, const uint32_t *lengths, uint32_t count,
                         const fr_row_options *options, fr_error *err) noexcept
    void fr_row_plan_free(fr_row_plan *plan) noexcept


cdef extern from "batch/row_fill.h" nogil:
    ctypedef struct fr_row_part:
        const int64_t *values
        const int64_t *splits
        int64_t constant
        bint has_loss

    ctypedef struct fr_row_layout:
        const fr_segment *segments
        const uint32_t *splits
        uint32_t rows
        uint32_t length
        const fr_row_part *parts
        size_t part_count
        uint32_t documents

    int fr_row_layout_check(const fr_row_layout *layout, fr_error *err) noexcept
    int fr_row_fill_tokens(const fr_row_layout *layout, fr_dtype dtype, int64_t pad, uint8_t *out,
                           fr_error *err) noexcept
    void fr_row_fill_segments(const fr_row_layout *layout, int32_t *segments,
                              int32_t *positions) noexcept
    void fr_row_fill_loss(const fr_row_layout *layout, uint8_t *out) noexcept
    void fr_row_fill_aligned(const fr_row_layout *layout, const uint8_t *values,
                             const int64_t *splits, size_t item, const uint8_t *pad,
                             uint8_t *out) noexcept
    size_t fr_row_fill_boundaries(const fr_row_layout *layout, int32_t *out) noexcept


cdef extern from "image/taps.h" nogil:
    ctypedef enum fr_filter:
        FR_FILTER_NEAREST
        FR_FILTER_COUNT

    ctypedef struct fr_interpolation:
        fr_filter filter
        bint antialias
        bint align_corners
        bint legacy_centers

    ctypedef struct fr_sampling:
        size_t size
        float begin
        float length
        size_t total
        size_t first
        size_t count

    fr_sampling fr_sampling_whole(size_t size, size_t count) noexcept


cdef extern from "image/resample.h" nogil:
    ctypedef struct fr_resampler:
        size_t first_row
        size_t first_column
        float scale

    ctypedef struct fr_pixels:
        const uint8_t *data
        size_t row_step
        bint is_float

    int fr_resampler_init(fr_resampler *resampler, const fr_interpolation *how,
                          const fr_sampling *rows, const fr_sampling *columns, size_t channels,
                          bint mirror, fr_error *err) noexcept
    void fr_resampler_image(fr_resampler *resampler, const fr_pixels *source, float *out) noexcept
    void fr_resampler_free(fr_resampler *resampler) noexcept


cdef extern from "image/bmp.h" nogil:
    ctypedef struct fr_bmp_header:
        size_t height
        size_t width
        const uint8_t *top
        ptrdiff_t step

    bint fr_bmp_read_header(fr_span data, fr_bmp_header *header) noexcept
    void fr_bmp_decode(const fr_bmp_header *header, uint8_t *out) noexcept


cdef extern from "image/tiff.h" nogil:
    ctypedef struct fr_tiff:
        size_t height
        size_t width
        size_t channels
        const uint8_t *pixels

    bint fr_tiff_read(fr_span data, fr_tiff *tiff) noexcept


cdef extern from "image/png.h" nogil:
    ctypedef struct fr_png_header:
        size_t height
        size_t width
        int bits
        bint is_color
        bint has_alpha

    ctypedef struct fr_png_format:
        int channels
        int bits

    const char *fr_png_version() noexcept
    bint fr_png_is(fr_span data) noexcept
    int fr_png_read_header(fr_span data, uint64_t limit, fr_png_header *header,
                           fr_error *err) noexcept
    int fr_png_decode(fr_span data, const fr_png_header *header, const fr_png_format *format,
                      uint8_t *out, size_t row_step, fr_error *err) noexcept


cdef extern from "image/jpeg.h" nogil:
    ctypedef struct fr_jpeg:
        pass

    ctypedef struct fr_jpeg_limits:
        uint64_t pixels
        uint32_t scans

    ctypedef struct fr_jpeg_header:
        size_t height
        size_t width
        int channels
        int orientation
        bint is_progressive

    ctypedef struct fr_jpeg_region:
        bint fast_dct
        bint no_fancy
        int denominator
        int channels
        size_t top
        size_t left
        size_t height
        size_t width

    const char *fr_jpeg_version() noexcept
    bint fr_jpeg_is(fr_span data) noexcept
    int fr_jpeg_new(const fr_jpeg_limits *limits, fr_jpeg **jpeg, fr_error *err) noexcept
    int fr_jpeg_open(fr_jpeg *jpeg, fr_span data, fr_jpeg_header *header, fr_error *err) noexcept
    size_t fr_jpeg_reduced(size_t side, int denominator) noexcept
    int fr_jpeg_decode(fr_jpeg *jpeg, const fr_jpeg_region *region, uint8_t *out, size_t row_step,
                       fr_error *err) noexcept
    void fr_jpeg_free(fr_jpeg *jpeg) noexcept


cdef extern from "image/crop.h" nogil:
    ctypedef enum fr_crop_kind:
        FR_CROP_WHOLE

    ctypedef struct fr_crop_options:
        fr_crop_kind kind
        size_t out_height
        size_t out_width
        size_t shorter
        double area_low
        double area_high
        double ratio_low
        double ratio_high

    ctypedef struct fr_rect:
        size_t top
        size_t left
        size_t height
        size_t width

    fr_rect fr_crop_draw(const fr_crop_options *options, fr_philox *philox, size_t height,
                         size_t width) noexcept


cdef extern from "image/color_jitter.h" nogil:
    ctypedef struct fr_color_jitter:
        double brightness[2]
        double contrast[2]
        double saturation[2]
        double hue[2]


cdef extern from "image/pixel_format.h" nogil:
    ctypedef enum fr_pixel_type:
        FR_PIXEL_UINT8
        FR_PIXEL_FLOAT16

    ctypedef struct fr_pixel_format:
        fr_pixel_type type
        bint channels_first
        size_t height
        size_t width
        size_t channels
        float scale[4]
        float shift[4]

    size_t fr_pixel_format_size(const fr_pixel_format *format) noexcept
    void fr_pixel_format_store(
        fr_pixel_type type, const float *row, size_t count, uint8_t *out) noexcept
    void fr_pixel_format_load_halves(
        const uint16_t *halves, size_t count, float *out) noexcept


cdef extern from "image/preprocess.h" nogil:
    ctypedef struct fr_preprocess_options:
        fr_crop_options crop
        fr_interpolation interpolation
        double reducing_gap
        double mirror
        bint has_jitter
        fr_color_jitter jitter
        bint fast_dct
        bint no_fancy
        bint upright
        fr_jpeg_limits limits
        fr_pixel_format format
        uint64_t seed

    ctypedef enum fr_draw_part:
        FR_DRAW_CROP

    void fr_preprocess_stream(uint64_t seed, uint64_t key, fr_draw_part part,
                              fr_philox *philox) noexcept

    ctypedef struct fr_preprocessor:
        pass

    int fr_preprocessor_new(const fr_preprocess_options *options, fr_preprocessor **preprocessor,
                            fr_error *err) noexcept
    int fr_preprocessor_jpeg(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                             uint8_t *out, fr_error *err) noexcept
    int fr_preprocessor_png(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                            uint8_t *out, fr_error *err) noexcept
    int fr_preprocessor_stored(fr_preprocessor *preprocessor, fr_span data, uint64_t key,
                               uint8_t *out, fr_error *err) noexcept
    int fr_preprocessor_pixels(fr_preprocessor *preprocessor, const uint8_t *pixels, size_t height,
                               size_t width, uint64_t key, uint8_t *out, fr_error *err) noexcept
    void fr_preprocessor_free(fr_preprocessor *preprocessor) noexcept


