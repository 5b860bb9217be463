# SPDX-License-Identifier: Apache-2.0
"""The public names of ``fastrec.compat.v2``, by name space: what ``dir()`` lists.

``tests/tools/compat_stubs.py`` writes the types of these names to ``__init__.pyi``.
"""

from __future__ import annotations

__all__ = ["NAMES"]

NAMES = {
    "": """
    Assert DType Graph IndexedSlices NoneTensorSpec OptionalSpec RaggedTensor RaggedTensorSpec
    SparseTensor SparseTensorSpec Tensor TensorArray TensorArraySpec TensorShape TensorSpec
    TypeSpec abs acos acosh add add_n argmax argmin argsort as_dtype as_string asin asinh
    assert_equal assert_greater assert_less assert_rank atan atan2 atanh audio autograph
    bfloat16 bitcast bitwise bool boolean_mask broadcast_dynamic_shape broadcast_static_shape
    broadcast_to case cast clip_by_norm clip_by_value compat complex complex128 complex64
    concat cond config constant control_dependencies convert_to_tensor cos cosh cumsum data
    debugging device distribute divide double dtypes dynamic_partition dynamic_stitch einsum
    ensure_shape equal errors executing_eagerly exp expand_dims eye fill float16 float32
    float64 floor foldl foldr function gather gather_nd get_logger get_static_value greater
    greater_equal group half histogram_fixed_width identity identity_n image int16 int32 int64
    int8 io is_tensor keras less less_equal linalg linspace logical_and logical_not logical_or
    lookup make_ndarray make_tensor_proto map_fn math matmul maximum meshgrid minimum multiply
    name_scope negative nest newaxis nn no_op norm not_equal numpy_function one_hot ones
    ones_like pad pow print py_function ragged random range rank raw_ops realdiv reduce_all
    reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum
    repeat reshape resource reverse reverse_sequence roll round saturate_cast scalar_mul scan
    scatter_nd searchsorted sequence_mask shape shape_n sigmoid sign signal sin sinh size
    slice sort sparse split sqrt square squeeze stack stop_gradient string strings subtract
    switch_case tan tanh tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min
    tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile timestamp train transpose
    truediv truncatediv truncatemod type_spec_from_value uint16 uint32 uint64 uint8 unique
    unique_with_counts unravel_index unstack vectorized_map version where while_loop xla zeros
    zeros_like
    """,
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
    VirtualDeviceConfiguration enable_op_determinism get_memory_growth get_visible_devices
    list_physical_devices set_memory_growth set_virtual_device_configuration
    set_visible_devices
    """,
    "config.optimizer": """
    get_experimental_options get_jit set_experimental_options set_jit
    """,
    "config.threading": """
    get_inter_op_parallelism_threads get_intra_op_parallelism_threads
    set_inter_op_parallelism_threads set_intra_op_parallelism_threads
    """,
    "data": """
    AUTOTUNE Dataset DatasetSpec FixedLengthRecordDataset INFINITE_CARDINALITY Iterator
    Options TFRecordDataset TextLineDataset ThreadingOptions UNKNOWN_CARDINALITY experimental
    set_lowering
    """,
    "data.experimental": """
    AUTOTUNE AutoShardPolicy AutotuneAlgorithm AutotuneOptions Counter CsvDataset
    DistributeOptions ExternalStatePolicy INFINITE_CARDINALITY OptimizationOptions Optional
    RandomDataset Reducer SHARD_HINT TFRecordWriter ThreadingOptions UNKNOWN_CARDINALITY
    assert_cardinality bucket_by_sequence_length cardinality choose_from_datasets
    copy_to_device dense_to_ragged_batch dense_to_sparse_batch enumerate_dataset from_list
    get_next_as_optional get_single_element get_structure group_by_reducer group_by_window
    ignore_errors load make_batched_features_dataset make_csv_dataset map_and_batch
    pad_to_cardinality parallel_interleave parse_example_dataset prefetch_to_device
    rejection_resample sample_from_datasets save scan shuffle_and_repeat snapshot take_while
    unbatch unique
    """,
    "debugging": """
    Assert assert_all_finite assert_equal assert_greater assert_greater_equal assert_integer
    assert_less assert_less_equal assert_near assert_negative assert_non_negative
    assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank
    assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_shapes
    assert_type check_numerics disable_check_numerics disable_traceback_filtering
    enable_check_numerics enable_traceback_filtering is_numeric_tensor
    set_log_device_placement
    """,
    "distribute": "InputContext Strategy cluster_resolver get_strategy has_strategy",
    "distribute.cluster_resolver": "TPUClusterResolver",
    "dtypes": """
    DType as_dtype bfloat16 bool cast complex complex128 complex64 double float16 float32
    float64 half int16 int32 int64 int8 resource saturate_cast string uint16 uint32 uint64
    uint8
    """,
    "errors": """
    ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError DATA_LOSS
    DEADLINE_EXCEEDED DataLossError DeadlineExceededError FAILED_PRECONDITION
    FailedPreconditionError INTERNAL INVALID_ARGUMENT InternalError InvalidArgumentError
    NOT_FOUND NotFoundError OK OUT_OF_RANGE OpError OutOfRangeError PERMISSION_DENIED
    PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError UNAUTHENTICATED
    UNAVAILABLE UNIMPLEMENTED UNKNOWN UnauthenticatedError UnavailableError UnimplementedError
    UnknownError
    """,
    "image": """
    ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality
    adjust_saturation central_crop combined_non_max_suppression convert_image_dtype
    crop_and_resize crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif
    decode_image decode_jpeg decode_png draw_bounding_boxes encode_jpeg encode_png
    extract_jpeg_shape extract_patches flip_left_right flip_up_down grayscale_to_rgb
    hsv_to_rgb image_gradients is_jpeg non_max_suppression non_max_suppression_overlaps
    non_max_suppression_padded non_max_suppression_with_scores pad_to_bounding_box
    per_image_standardization psnr random_brightness random_contrast random_crop
    random_flip_left_right random_flip_up_down random_hue random_jpeg_quality
    random_saturation resize resize_with_crop_or_pad resize_with_pad rgb_to_grayscale
    rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 sample_distorted_bounding_box sobel_edges ssim
    ssim_multiscale stateless_random_brightness stateless_random_contrast
    stateless_random_crop stateless_random_flip_left_right stateless_random_flip_up_down
    stateless_random_hue stateless_random_jpeg_quality stateless_random_saturation
    stateless_sample_distorted_bounding_box total_variation transpose yiq_to_rgb yuv_to_rgb
    """,
    "io": """
    FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature TFRecordOptions
    TFRecordWriter VarLenFeature decode_and_crop_jpeg decode_base64 decode_bmp
    decode_compressed decode_csv decode_gif decode_image decode_jpeg decode_json_example
    decode_png decode_raw deserialize_many_sparse encode_base64 encode_jpeg encode_png
    extract_jpeg_shape gfile is_jpeg match_filenames_once matching_files parse_example
    parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor
    read_file serialize_many_sparse serialize_sparse serialize_tensor write_file
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
    adjoint band_part cholesky cross det diag diag_part einsum eye inv l2_normalize logdet
    matmul matrix_transpose matvec norm normalize pinv set_diag solve tensordot trace
    """,
    "lookup": """
    KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex
    TextFileInitializer experimental
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
    depth_to_space depthwise_conv2d elu gelu in_top_k l2_normalize leaky_relu log_softmax
    max_pool max_pool2d moments relu relu6 selu sigmoid silu softmax softplus softsign
    space_to_depth swish tanh top_k zero_fraction
    """,
    "ragged": """
    boolean_mask constant map_flat_values range row_splits_to_segment_ids
    segment_ids_to_row_splits stack
    """,
    "random": """
    Generator categorical create_rng_state experimental fold_in gamma get_global_generator
    log_uniform_candidate_sampler normal set_global_generator set_seed shuffle split
    stateless_categorical stateless_normal stateless_truncated_normal stateless_uniform
    truncated_normal uniform uniform_candidate_sampler
    """,
    "random.experimental": """
    Generator create_rng_state get_global_generator set_global_generator stateless_fold_in
    stateless_shuffle stateless_split
    """,
    "raw_ops": "ImageProjectiveTransformV2 ImageProjectiveTransformV3",
    "signal": """
    dct fft frame hamming_window hann_window ifft irfft linear_to_mel_weight_matrix
    mfccs_from_log_mel_spectrograms rfft stft
    """,
    "sparse": """
    SparseTensor add concat cross cross_hashed expand_dims eye fill_empty_rows from_dense
    map_values mask maximum minimum reduce_max reduce_sum reorder reset_shape reshape retain
    slice sparse_dense_matmul split to_dense to_indicator transpose
    """,
    "strings": """
    as_string bytes_split format join length lower ngrams reduce_join regex_full_match
    regex_replace split strip substr to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong
    to_number unicode_decode unicode_decode_with_offsets unicode_encode unicode_script
    unicode_split unicode_split_with_offsets unicode_transcode unsorted_segment_join upper
    """,
    "train": """
    BytesList Example Feature FeatureList FeatureLists Features FloatList Int64List
    SequenceExample
    """,
    "version": "COMPILER_VERSION GIT_VERSION VERSION",
    "xla": "experimental",
    "xla.experimental": "jit_scope",
}
