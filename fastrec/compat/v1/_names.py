# SPDX-License-Identifier: Apache-2.0
"""The public names of ``fastrec.compat.v1``, by name space: what ``dir()`` lists.

``tests/tools/compat_stubs.py`` writes the types of these names to ``__init__.pyi``.
"""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES = {
    "": """
    AUTO_REUSE Assert ConfigProto Coordinator DType Dimension FIFOQueue FixedLenFeature
    FixedLenSequenceFeature FixedLengthRecordReader GPUOptions Graph GraphKeys IdentityReader
    IndexedSlices InteractiveSession Operation PaddingFIFOQueue Print PriorityQueue QueueBase
    RaggedFeature RaggedTensor RaggedTensorSpec RaggedTensorValue RandomShuffleQueue
    ReaderBase RunMetadata RunOptions Session SparseFeature SparseTensor SparseTensorSpec
    SparseTensorValue TFRecordReader Tensor TensorArray TensorShape TensorSpec TextLineReader
    TypeSpec VERSION VarLenFeature Variable VariableScope WholeFileReader abs accumulate_n
    acos acosh add add_n add_to_collection all_variables angle app argmax argmin argsort
    as_dtype as_string asin asinh assert_equal assert_greater assert_greater_equal
    assert_integer assert_less assert_less_equal assert_near assert_negative
    assert_non_negative assert_non_positive assert_none_equal assert_positive
    assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in
    assert_same_float_dtype assert_scalar assert_type assert_variables_initialized assign
    assign_add assign_sub atan atan2 atanh audio autograph batch_gather betainc bfloat16
    bincount bitcast bitwise bool boolean_mask broadcast_dynamic_shape broadcast_static_shape
    broadcast_to case cast ceil check_numerics cholesky clip_by_norm clip_by_value compat
    complex complex128 complex64 concat cond config confusion_matrix conj constant
    constant_initializer contrib control_dependencies control_flow_v2_enabled
    convert_to_tensor cos cosh count_nonzero count_up_to cross cumprod cumsum data debugging
    decode_base64 decode_compressed decode_csv decode_json_example decode_raw depth_to_space
    deserialize_many_sparse device diag diag_part digamma disable_control_flow_v2
    disable_eager_execution disable_resource_variables disable_tensor_equality
    disable_v2_behavior disable_v2_tensorshape distribute distributions div div_no_nan divide
    double dtypes dynamic_partition dynamic_stitch edit_distance einsum enable_control_flow_v2
    enable_eager_execution enable_resource_variables encode_base64 ensure_shape equal erf erfc
    errors executing_eagerly exp expand_dims expm1 extract_image_patches eye fill flags
    float16 float32 float64 floor floor_div floordiv floormod foldl foldr function gather
    gather_nd get_collection get_collection_ref get_default_graph get_default_session
    get_local_variable get_logger get_seed get_static_value get_variable get_variable_scope
    gfile global_variables global_variables_initializer greater greater_equal group half
    histogram_fixed_width identity identity_n igamma igammac imag image initialize_all_tables
    initialize_all_variables initialize_local_variables initialize_variables initializers
    int16 int32 int64 int8 invert_permutation io is_finite is_inf is_nan is_non_decreasing
    is_numeric_tensor is_strictly_increasing is_tensor is_variable_initialized keras lbeta
    less less_equal lgamma lin_space linalg linspace local_variables
    local_variables_initializer log log1p log_sigmoid logging logical_and logical_not
    logical_or logical_xor lookup make_ndarray make_tensor_proto map_fn matching_files math
    matmul matrix_band_part matrix_determinant matrix_diag matrix_diag_part matrix_inverse
    matrix_set_diag matrix_solve matrix_transpose maximum meshgrid minimum mod multinomial
    multiply name_scope negative nest newaxis nn no_op norm not_equal numpy_function one_hot
    ones ones_initializer ones_like pack pad parse_example parse_sequence_example
    parse_single_example parse_single_sequence_example parse_tensor placeholder
    placeholder_with_default polygamma pow print py_func py_function python_io queue ragged
    random random_crop random_gamma random_normal random_normal_initializer random_shuffle
    random_uniform random_uniform_initializer range rank raw_ops read_file real realdiv
    reciprocal reduce_all reduce_any reduce_join reduce_logsumexp reduce_max reduce_mean
    reduce_min reduce_prod reduce_sum regex_full_match regex_replace repeat
    report_uninitialized_variables reset_default_graph reshape resource
    resource_variables_enabled reverse reverse_sequence reverse_v2 rint roll round rsqrt
    saturate_cast scalar_mul scan scatter_nd searchsorted segment_max segment_mean segment_min
    segment_prod segment_sum sequence_mask serialize_many_sparse serialize_sparse
    serialize_tensor set_random_seed setdiff1d shape shape_n sigmoid sign signal sin sinh size
    slice sort space_to_batch space_to_depth sparse sparse_add sparse_concat
    sparse_fill_empty_rows sparse_mask sparse_maximum sparse_minimum sparse_placeholder
    sparse_reduce_max sparse_reduce_sum sparse_reorder sparse_reset_shape sparse_reshape
    sparse_retain sparse_slice sparse_split sparse_tensor_dense_matmul sparse_tensor_to_dense
    sparse_to_dense sparse_to_indicator sparse_transpose split sqrt square squared_difference
    squeeze stack stop_gradient strided_slice string string_join string_length string_lower
    string_split string_strip string_to_hash_bucket string_to_hash_bucket_fast
    string_to_hash_bucket_strong string_to_number string_upper strings substr subtract summary
    switch_case tables_initializer tan tanh tensor_scatter_nd_add tensor_scatter_nd_max
    tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile
    timestamp to_double to_float to_int32 to_int64 trace train trainable_variables transpose
    truediv truncated_normal truncated_normal_initializer truncatediv truncatemod tuple uint16
    uint32 uint64 uint8 unique unique_with_counts unpack unravel_index unsorted_segment_max
    unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n
    unsorted_segment_sum unstack variable_scope variables_initializer verify_tensor_all_finite
    where while_loop write_file xla zeros zeros_initializer zeros_like zeta
    """,
    "app": "run",
    "audio": "decode_wav",
    "autograph": "experimental set_verbosity",
    "autograph.experimental": "do_not_convert set_loop_options",
    "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "compat": "as_bytes as_str as_str_any as_text v1",
    "config": """
    LogicalDeviceConfiguration experimental experimental_functions_run_eagerly
    experimental_run_functions_eagerly functions_run_eagerly get_logical_device_configuration
    get_soft_device_placement get_visible_devices list_logical_devices list_physical_devices
    optimizer run_functions_eagerly set_logical_device_configuration set_soft_device_placement
    set_visible_devices threading
    """,
    "config.experimental": """
    VirtualDeviceConfiguration get_memory_growth get_visible_devices list_physical_devices
    set_memory_growth set_virtual_device_configuration set_visible_devices
    """,
    "config.optimizer": """
    get_experimental_options get_jit set_experimental_options set_jit
    """,
    "config.threading": """
    get_inter_op_parallelism_threads get_intra_op_parallelism_threads
    set_inter_op_parallelism_threads set_intra_op_parallelism_threads
    """,
    "data": """
    AUTOTUNE Dataset FixedLengthRecordDataset INFINITE_CARDINALITY Iterator Options
    TFRecordDataset TextLineDataset ThreadingOptions UNKNOWN_CARDINALITY experimental
    get_output_classes get_output_shapes get_output_types make_initializable_iterator
    make_one_shot_iterator
    """,
    "data.experimental": """
    AUTOTUNE AutoShardPolicy AutotuneAlgorithm AutotuneOptions Counter CsvDataset
    DistributeOptions ExternalStatePolicy INFINITE_CARDINALITY OptimizationOptions Optional
    RandomDataset Reducer SHARD_HINT ThreadingOptions UNKNOWN_CARDINALITY assert_cardinality
    bucket_by_sequence_length choose_from_datasets copy_to_device dense_to_ragged_batch
    dense_to_sparse_batch enumerate_dataset from_list get_next_as_optional get_single_element
    get_structure group_by_reducer group_by_window ignore_errors make_batched_features_dataset
    make_csv_dataset map_and_batch map_and_batch_with_legacy_function pad_to_cardinality
    parallel_interleave parse_example_dataset prefetch_to_device rejection_resample
    sample_from_datasets scan shuffle_and_repeat snapshot take_while unbatch unique
    """,
    "debugging": """
    Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer
    assert_less assert_less_equal assert_near assert_negative assert_non_negative
    assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank
    assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_shapes
    assert_type check_numerics disable_check_numerics disable_traceback_filtering
    enable_check_numerics enable_traceback_filtering is_finite is_inf is_nan is_non_decreasing
    is_numeric_tensor is_strictly_increasing set_log_device_placement
    """,
    "distribute": "InputContext Strategy cluster_resolver get_strategy has_strategy",
    "distribute.cluster_resolver": "TPUClusterResolver",
    "distributions": "Beta",
    "dtypes": """
    DType as_dtype as_string bfloat16 bool cast complex complex128 complex64 double float16
    float32 float64 half int16 int32 int64 int8 resource saturate_cast string uint16 uint32
    uint64 uint8
    """,
    "errors": """
    ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError DATA_LOSS
    DEADLINE_EXCEEDED DataLossError DeadlineExceededError FAILED_PRECONDITION
    FailedPreconditionError INTERNAL INVALID_ARGUMENT InternalError InvalidArgumentError
    NOT_FOUND NotFoundError OK OUT_OF_RANGE OpError OutOfRangeError PERMISSION_DENIED
    PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError UNAUTHENTICATED
    UNAVAILABLE UNIMPLEMENTED UNKNOWN UnauthenticatedError UnavailableError UnimplementedError
    UnknownError error_code_from_exception_type exception_type_from_error_code
    """,
    "flags": """
    DEFINE_bool DEFINE_boolean DEFINE_enum DEFINE_float DEFINE_integer DEFINE_list
    DEFINE_string FLAGS Flags mark_flag_as_required
    """,
    "gfile": """
    Copy DeleteRecursively Exists FastGFile GFile Glob IsDirectory ListDirectory MakeDirs
    MkDir Open Remove Rename Stat Walk
    """,
    "image": """
    ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality
    adjust_saturation central_crop combined_non_max_suppression convert_image_dtype
    crop_and_resize crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif
    decode_image decode_jpeg decode_png draw_bounding_boxes encode_jpeg encode_png
    extract_glimpse extract_image_patches extract_jpeg_shape extract_patches flip_left_right
    flip_up_down grayscale_to_rgb hsv_to_rgb image_gradients is_jpeg non_max_suppression
    non_max_suppression_overlaps non_max_suppression_padded non_max_suppression_with_scores
    pad_to_bounding_box per_image_standardization per_image_whitening psnr random_brightness
    random_contrast random_crop random_flip_left_right random_flip_up_down random_hue
    random_jpeg_quality random_saturation resize resize_area resize_bicubic resize_bilinear
    resize_image_with_crop_or_pad resize_image_with_pad resize_images resize_nearest_neighbor
    resize_with_crop_or_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90
    sample_distorted_bounding_box sobel_edges ssim ssim_multiscale total_variation transpose
    transpose_image yiq_to_rgb yuv_to_rgb
    """,
    "initializers": """
    constant global_variables local_variables ones random_normal random_uniform
    truncated_normal variables zeros
    """,
    "io": """
    FixedLenFeature FixedLenSequenceFeature PaddingFIFOQueue PriorityQueue QueueBase
    RaggedFeature RandomShuffleQueue SparseFeature TFRecordCompressionType TFRecordOptions
    TFRecordWriter VarLenFeature decode_and_crop_jpeg decode_base64 decode_bmp
    decode_compressed decode_csv decode_gif decode_image decode_jpeg decode_json_example
    decode_png decode_raw deserialize_many_sparse encode_base64 encode_jpeg encode_png
    extract_jpeg_shape gfile is_jpeg match_filenames_once matching_files parse_example
    parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor
    read_file serialize_many_sparse serialize_sparse serialize_tensor tf_record_iterator
    write_file
    """,
    "io.gfile": """
    GFile copy exists glob isdir join listdir makedirs mkdir remove rename rmtree stat walk
    """,
    "keras": "backend preprocessing utils",
    "keras.backend": """
    abs all any arange argmax argmin cast cast_to_floatx clip concatenate constant cos dot
    dtype epsilon equal exp expand_dims eye flatten floatx gather greater greater_equal
    image_data_format int_shape is_sparse is_tensor less less_equal log max maximum mean min
    minimum ndim not_equal one_hot ones ones_like permute_dimensions pow prod reshape reverse
    round shape sigmoid sign sin sqrt square squeeze stack sum tanh tile transpose zeros
    zeros_like
    """,
    "keras.preprocessing": "sequence",
    "keras.preprocessing.sequence": "pad_sequences",
    "keras.utils": "normalize pad_sequences to_categorical",
    "linalg": """
    adjoint band_part cholesky cross det diag diag_part einsum eye inv logdet matmul
    matrix_transpose norm normalize pinv set_diag solve tensordot trace
    """,
    "logging": """
    DEBUG ERROR FATAL INFO WARN debug error fatal get_verbosity info log set_verbosity warn
    warning
    """,
    "lookup": """
    HashTable KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex
    TextFileInitializer experimental index_table_from_file index_table_from_tensor
    index_to_string_table_from_file index_to_string_table_from_tensor
    """,
    "lookup.experimental": "DenseHashTable MutableHashTable",
    "math": """
    abs accumulate_n acos acosh add add_n angle argmax argmin asin asinh atan atan2 atanh
    bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc bincount ceil confusion_matrix conj cos
    cosh count_nonzero cumprod cumsum cumulative_logsumexp digamma divide divide_no_nan equal
    erf erfc erfcinv erfinv exp expm1 floor floordiv floormod greater greater_equal igamma
    igammac imag in_top_k invert_permutation is_finite is_inf is_nan is_non_decreasing
    is_strictly_increasing l2_normalize lbeta less less_equal lgamma log log1p log_sigmoid
    log_softmax logical_and logical_not logical_or logical_xor maximum minimum mod multiply
    multiply_no_nan ndtri negative nextafter not_equal polygamma polyval pow real reciprocal
    reciprocal_no_nan reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max
    reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance rint round rsqrt
    scalar_mul segment_max segment_mean segment_min segment_prod segment_sum sigmoid sign sin
    sinh softmax softplus softsign sqrt square squared_difference subtract tan tanh top_k
    truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min
    unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum xdivy xlog1py xlogy
    zero_fraction zeta
    """,
    "nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    "nn": """
    depth_to_space depthwise_conv2d elu embedding_lookup in_top_k l2_normalize leaky_relu
    log_softmax log_uniform_candidate_sampler max_pool max_pool2d moments relu relu6 selu
    sigmoid silu softmax softplus softsign space_to_depth swish tanh top_k
    uniform_candidate_sampler zero_fraction
    """,
    "python_io": """
    TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator
    """,
    "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "ragged": """
    RaggedTensorValue boolean_mask constant constant_value map_flat_values placeholder range
    row_splits_to_segment_ids segment_ids_to_row_splits stack
    """,
    "random": """
    categorical fold_in gamma get_seed log_uniform_candidate_sampler multinomial normal
    set_random_seed shuffle split stateless_categorical stateless_normal
    stateless_truncated_normal stateless_uniform truncated_normal uniform
    uniform_candidate_sampler
    """,
    "raw_ops": "ImageProjectiveTransformV2 ImageProjectiveTransformV3 Merge Switch",
    "signal": """
    dct fft frame hamming_window hann_window ifft irfft linear_to_mel_weight_matrix
    mfccs_from_log_mel_spectrograms rfft stft
    """,
    "sparse": """
    SparseTensor add concat cross cross_hashed expand_dims eye fill_empty_rows from_dense mask
    maximum minimum placeholder reduce_max reduce_sum reorder reset_shape reshape retain slice
    sparse_dense_matmul split to_dense to_indicator transpose
    """,
    "strings": """
    as_string bytes_split format join length lower ngrams reduce_join regex_full_match
    regex_replace split strip substr to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong
    to_number unicode_decode unicode_decode_with_offsets unicode_encode unicode_script
    unicode_split unicode_split_with_offsets unicode_transcode unsorted_segment_join upper
    """,
    "summary": "FileWriter audio histogram image merge merge_all scalar text",
    "train": """
    BytesList Coordinator Example Feature FeatureList FeatureLists Features FloatList
    Int64List LooperThread QueueRunner SequenceExample add_queue_runner batch batch_join
    create_global_step get_or_create_global_step input_producer limit_epochs
    match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch
    maybe_shuffle_batch_join queue_runner range_input_producer shuffle_batch
    shuffle_batch_join slice_input_producer start_queue_runners string_input_producer
    """,
    "train.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    "xla": "experimental",
    "xla.experimental": "jit_scope",
}
