# SPDX-License-Identifier: Apache-2.0
"""The public names of both versions, with the module that defines each.

For each name space, a text lists its names after the module that defines them. A module begins with
a dot if each version has its own, and ``module:object`` are the attributes of an object. ``@math:``
are functions of the topic ``math``, see :func:`.faces.topic`. ``tf.data:`` are names of the name
space ``tf.data``. ``name=other`` is defined under another name. ``/1`` or ``/2`` after a name space
or a module restricts it to one version.

``tests/tools/compat_stubs.py`` writes the types of these names to ``__init__.pyi``.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

from .naming import renamed, uncovered

NAMES = {
    "": """
    @math: abs acos add add_n asin atan atan2 cast clip_by_value cos cosh divide equal exp floor
        greater greater_equal identity less less_equal logical_and logical_not logical_or matmul
        maximum minimum multiply negative not_equal pow round saturate_cast sigmoid sign sin
        sinh sqrt square stop_gradient=identity subtract tan tanh truediv truncatediv
    @arrays: broadcast_to concat expand_dims fill linspace ones ones_like pad range rank reshape
        reverse sequence_mask shape size split squeeze stack tile transpose unstack zeros
        zeros_like
    _tf.dtypes: DType as_dtype bfloat16 bool=bool_ complex128 complex64 double=float64 float16
        float32 float64 half=float16 int16 int32 int64 int8 resource string uint16 uint32 uint64
        uint8
    @reductions: argmax argmin cumsum histogram_fixed_width norm reduce_all reduce_any
        reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum
    @various: acosh asinh atanh broadcast_dynamic_shape broadcast_static_shape clip_by_norm
        identity_n shape_n tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub
        timestamp truncatemod
    @picking: boolean_mask gather gather_nd one_hot slice tensor_scatter_nd_add
        tensor_scatter_nd_update where
    @checks: Assert assert_equal assert_greater assert_less assert_rank ensure_shape
    @segments: dynamic_partition dynamic_stitch reverse_sequence scatter_nd searchsorted
        unique unique_with_counts
    _tf.specs: RaggedTensorSpec SparseTensorSpec TensorSpec TypeSpec
    @ordering: argsort repeat roll sort
    @special: bitcast complex scalar_mul unravel_index
    @products: einsum eye meshgrid tensordot
    .loops/1: foldl foldr scan while_loop
    .functions/2: case cond control_dependencies executing_eagerly foldl foldr function
        get_static_value group is_tensor map_fn no_op numpy_function print=print_ py_function
        scan switch_case type_spec_from_value vectorized_map while_loop
    _tf.tensor_proto: make_ndarray make_tensor_proto
    _tf.faces.sparse: IndexedSlices
    .loops/1: TensorArray
    .tensor_array/2: TensorArray
    @strings: as_string
    _tf.settings: get_logger
    @math/1: ceil div div_no_nan=divide_no_nan erf expm1 floor_div=floordiv floordiv floormod
        is_finite is_inf is_nan log log1p logical_xor mod realdiv=divide reciprocal rint rsqrt
        squared_difference to_double to_float to_int32 to_int64
    @special/1: accumulate_n angle betainc confusion_matrix conj cumprod digamma erfc igamma
        igammac imag is_non_decreasing is_strictly_increasing lbeta lgamma log_sigmoid polygamma
        real unsorted_segment_sqrt_n zeta
    .variables/1: Variable all_variables assert_variables_initialized assign assign_add
        assign_sub count_up_to global_variables global_variables_initializer
        initialize_all_variables initialize_local_variables initialize_variables
        is_variable_initialized local_variables local_variables_initializer
        report_uninitialized_variables trainable_variables variables_initializer
    @checks/1: assert_greater_equal assert_integer assert_less_equal assert_near assert_negative
        assert_non_negative assert_non_positive assert_none_equal assert_positive
        assert_proper_iterable assert_rank_at_least assert_rank_in assert_same_float_dtype
        assert_scalar assert_type check_numerics is_numeric_tensor
        verify_tensor_all_finite=assert_all_finite
    @sparse/1: edit_distance sparse_add=add sparse_concat=concat
        sparse_fill_empty_rows=fill_empty_rows
        sparse_mask=mask sparse_maximum=maximum sparse_minimum=minimum
        sparse_reduce_max=reduce_max sparse_reduce_sum=reduce_sum sparse_reorder=reorder
        sparse_reset_shape=reset_shape sparse_reshape=reshape sparse_retain=retain
        sparse_slice=slice sparse_split=split sparse_tensor_dense_matmul=sparse_dense_matmul
        sparse_tensor_to_dense=to_dense sparse_to_indicator=to_indicator
        sparse_transpose=transpose
    .variables/1: AUTO_REUSE VariableScope constant_initializer get_local_variable get_variable
        get_variable_scope ones_initializer random_normal_initializer random_uniform_initializer
        truncated_normal_initializer variable_scope zeros_initializer
    .summaries/1: control_flow_v2_enabled disable_control_flow_v2 disable_eager_execution
        disable_resource_variables disable_tensor_equality disable_v2_behavior
        disable_v2_tensorshape enable_control_flow_v2 enable_eager_execution
        enable_resource_variables executing_eagerly function is_tensor
        resource_variables_enabled
    @segments/1: bincount invert_permutation segment_max segment_mean segment_min segment_prod
        segment_sum setdiff1d unsorted_segment_max unsorted_segment_mean unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sum
    @parsers/1: decode_csv decode_json_example deserialize_many_sparse parse_example
        parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor
        serialize_many_sparse serialize_sparse serialize_tensor
    @strings/1: reduce_join regex_full_match regex_replace string_join=join string_length=length
        string_lower=lower string_strip=strip string_to_hash_bucket_fast=to_hash_bucket_fast
        string_to_number=to_number string_upper=upper substr
    .graph/1: Graph add_to_collection control_dependencies get_collection get_collection_ref
        get_default_graph name_scope reset_default_graph
    .draws/1: get_seed set_random_seed
    .control_flow/1: Print case cond device group map_fn no_op print=print_v2 switch_case
        tuple=tuple_
    .session/1: ConfigProto GPUOptions InteractiveSession RunMetadata RunOptions Session
        get_default_session
    .readers/1: FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader
        WholeFileReader
    .image_ops/1: batch_gather diag diag_part space_to_batch
    @matrices/1: matrix_band_part=band_part matrix_determinant=det matrix_diag=diag
        matrix_diag_part=diag_part matrix_inverse=inv trace
    _tf.features/1: FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature
        VarLenFeature
    @rare_matrices/1: cholesky cross matrix_set_diag=set_diag matrix_solve=solve
        matrix_transpose
    .constants/1: constant convert_to_tensor get_static_value placeholder
        placeholder_with_default
    @arrays/1: lin_space=linspace pack=stack reverse_v2=reverse unpack=unstack
    .queues/1: FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue
    ._composites/1: RaggedTensor RaggedTensorValue SparseTensor SparseTensorValue
    @encodings/1: decode_base64 decode_compressed encode_base64
    .file_ops/1: matching_files read_file write_file
    .script_ops/1: numpy_function py_func py_function
    .composite_ops/1: sparse_placeholder sparse_to_dense
    _tf.shape/1: Dimension TensorShape
    _tf.settings/1: VERSION=VERSION_1
    ._nodes/1: Operation Tensor
    @pixels/1: depth_to_space space_to_depth
    .tables/1: initialize_all_tables=tables_initializer tables_initializer
    .draws:draws/1: multinomial random_gamma=gamma random_normal=normal random_shuffle=shuffle
        random_uniform=uniform truncated_normal
    .array_ops/1: newaxis strided_slice
    @characters/1: string_to_hash_bucket=to_hash_bucket
        string_to_hash_bucket_strong=to_hash_bucket_strong
    .runners/1: Coordinator
    .graph/1: GraphKeys
    .queue_base/1: QueueBase
    @reductions/1: count_nonzero
    .string_ops/1: decode_raw
    @measures/1: extract_image_patches=extract_patches
    .draws:image_draws/1: random_crop
    .string_ops/1: string_split
    _tf.tensor/2: Tensor TensorShape convert_to_tensor
    _tf.composite/2: RaggedTensor SparseTensor
    .array_ops/2: constant newaxis
    _tf.settings/2: device name_scope
    @various/2: realdiv
    _tf.specs/2: NoneTensorSpec TensorArraySpec
    v1.graph/2: Graph
    _tf.data.iterating/2: OptionalSpec
    """,
    "app/1": """
    .command_flags: run
    tf: flags
    """,
    "audio": "@audio: decode_wav",
    "autograph": "_tf.settings: set_verbosity",
    "autograph.experimental": "_tf.settings: do_not_convert set_loop_options",
    "bitwise": "@bitwise: bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "compat": """
    _tf.faces.strings: as_bytes as_str as_str_any as_text bytes_or_text_types complex_types
        dimension_at_index dimension_value forward_compatible integral_types path_to_str
        real_types
    fastrec.compat: v2
    fastrec.compat/1: v1
    ._version1/2: v1
    """,
    "config": """
    _tf.settings: LogicalDeviceConfiguration
        experimental_functions_run_eagerly=functions_run_eagerly
        experimental_run_functions_eagerly=run_functions_eagerly functions_run_eagerly
        get_logical_device_configuration get_soft_device_placement
        get_visible_devices=list_physical_devices list_logical_devices=list_physical_devices
        list_physical_devices run_functions_eagerly set_logical_device_configuration
        set_soft_device_placement set_visible_devices
    """,
    "config.experimental": """
    _tf.settings: VirtualDeviceConfiguration=LogicalDeviceConfiguration enable_op_determinism
        get_memory_growth get_visible_devices=list_physical_devices list_physical_devices
        set_memory_growth set_virtual_device_configuration=set_logical_device_configuration
        set_visible_devices
    """,
    "config.optimizer": """
    _tf.settings: get_experimental_options get_jit set_experimental_options set_jit
    """,
    "config.threading": """
    _tf.settings: get_inter_op_parallelism_threads=get_parallelism_threads
        get_intra_op_parallelism_threads=get_parallelism_threads
        set_inter_op_parallelism_threads=set_parallelism_threads
        set_intra_op_parallelism_threads=set_parallelism_threads
    """,
    "contrib/1": "",
    "contrib.data/1": """
    ._contributed.reading: batch_and_drop_remainder padded_batch_and_drop_remainder
        read_batch_features=next_batch_features sliding_window_batch
    tf.data: AUTOTUNE Dataset FixedLengthRecordDataset Iterator TFRecordDataset TextLineDataset
    tf.data.experimental: Counter CsvDataset assert_cardinality bucket_by_sequence_length
        choose_from_datasets enumerate_dataset get_single_element group_by_window ignore_errors
        make_batched_features_dataset make_csv_dataset map_and_batch parallel_interleave
        rejection_resample sample_from_datasets scan shuffle_and_repeat unbatch unique
    """,
    "contrib.framework/1": "tf: TensorSpec argsort nest sort",
    "contrib.learn/1": "._contributed.reading: read_batch_examples read_batch_features",
    "contrib.lookup/1": """
    tf.lookup: HashTable KeyValueTensorInitializer StaticHashTable StaticVocabularyTable
        TextFileIndex TextFileInitializer experimental index_table_from_file
        index_table_from_tensor index_to_string_table_from_file
        index_to_string_table_from_tensor
    """,
    "contrib.slim/1": "._contributed.providers: one_hot_encoding",
    "contrib.slim.data_decoder/1": "._contributed.decoders: DataDecoder",
    "contrib.slim.data_provider/1": "._contributed.providers: DataProvider",
    "contrib.slim.dataset/1": "._contributed.providers: Dataset",
    "contrib.slim.dataset_data_provider/1": "._contributed.providers: DatasetDataProvider",
    "contrib.slim.parallel_reader/1": """
    ._contributed.providers: ParallelReader get_data_files parallel_read single_pass_read
    """,
    "contrib.slim.prefetch_queue/1": "._contributed.providers: prefetch_queue",
    "contrib.slim.queues/1": "._contributed.providers: QueueRunners",
    "contrib.slim.tfexample_decoder/1": """
    ._contributed.decoders: BackupHandler BoundingBox BoundingBoxSequence Image ItemHandler
        ItemHandlerCallback KeypointsSequence LookupTensor NumBoxesSequence SparseTensor
        TFExampleDecoder TFSequenceExampleDecoder Tensor
    """,
    "contrib.training/1": """
    ._contributed.training: HParams bucket bucket_by_sequence_length rejection_sample
        stratified_sample
    """,
    "data": """
    _tf.data.options: Options ThreadingOptions
    _tf.data.pipeline: INFINITE_CARDINALITY=INFINITE UNKNOWN_CARDINALITY=UNKNOWN
    .iterators/1: Iterator get_output_classes get_output_shapes get_output_types
        make_initializable_iterator make_one_shot_iterator
    ._datasets/1: Dataset FixedLengthRecordDataset TFRecordDataset TextLineDataset
    _tf.data.chaining: AUTOTUNE
    _tf.data.file_datasets/2: FixedLengthRecordDataset TFRecordDataset TextLineDataset
    _tf.data.dataset/2: Dataset
    _tf.data.iterating/2: Iterator=DatasetIterator
    _tf.specs/2: DatasetSpec
    _tf.data.pipeline/2: set_lowering
    """,
    "data.experimental": """
    _tf.data.experimental: SHARD_HINT bucket_by_sequence_length copy_to_device
        dense_to_ragged_batch dense_to_sparse_batch enumerate_dataset get_structure
        group_by_window ignore_errors map_and_batch pad_to_cardinality parallel_interleave
        prefetch_to_device rejection_resample scan shuffle_and_repeat snapshot take_while
        unbatch unique
    _tf.data.options: AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions
        ExternalStatePolicy OptimizationOptions ThreadingOptions
    _tf.data.reducing: Reducer
    @experimental: Counter RandomDataset assert_cardinality choose_from_datasets from_list
        get_single_element group_by_reducer make_batched_features_dataset make_csv_dataset
        parse_example_dataset sample_from_datasets
    _tf.data.pipeline: INFINITE_CARDINALITY=INFINITE UNKNOWN_CARDINALITY=UNKNOWN
    _tf.data.chaining: AUTOTUNE
    _tf.data.experimental/1: map_and_batch_with_legacy_function=map_and_batch
    .iterators/1: Optional get_next_as_optional
    ._datasets/1: CsvDataset
    .file_ops/2: TFRecordWriter cardinality load save
    _tf.data.iterating/2: Optional get_next_as_optional
    _tf.data.csv/2: CsvDataset
    """,
    "debugging": """
    @checks: Assert assert_all_finite assert_equal assert_greater assert_greater_equal
        assert_integer assert_less assert_less_equal assert_near assert_negative
        assert_non_negative assert_non_positive assert_none_equal assert_positive
        assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in
        assert_same_float_dtype assert_scalar assert_shapes assert_type check_numerics
        is_numeric_tensor
    _tf.settings: disable_check_numerics disable_traceback_filtering=enable_traceback_filtering
        enable_check_numerics enable_traceback_filtering set_log_device_placement
    @math/1: is_finite is_inf is_nan
    @special/1: is_non_decreasing is_strictly_increasing
    """,
    "distribute": "_tf.settings: InputContext Strategy get_strategy has_strategy",
    "distribute.cluster_resolver": "_tf.settings: TPUClusterResolver",
    "distributions/1": ".image_ops: Beta",
    "dtypes": """
    _tf.dtypes: DType as_dtype bfloat16 bool=bool_ complex128 complex64 double=float64 float16
        float32 float64 half=float16 int16 int32 int64 int8 resource string uint16 uint32 uint64
        uint8
    @math: cast saturate_cast
    @special: complex
    @strings/1: as_string
    """,
    "errors": """
    _tf.errors: ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError
        DATA_LOSS DEADLINE_EXCEEDED DataLossError DeadlineExceededError FAILED_PRECONDITION
        FailedPreconditionError INTERNAL INVALID_ARGUMENT InternalError InvalidArgumentError
        NOT_FOUND NotFoundError OK OUT_OF_RANGE OpError OutOfRangeError PERMISSION_DENIED
        PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError UNAUTHENTICATED
        UNAVAILABLE UNIMPLEMENTED UNKNOWN UnauthenticatedError UnavailableError
        UnimplementedError UnknownError
    _tf.errors/1: error_code_from_exception_type exception_type_from_error_code
    """,
    "estimator/1": ".summaries: ModeKeys",
    "experimental/2": "_tf.data.iterating: Optional",
    "flags/1": """
    .command_flags: DEFINE_bool=DEFINE_boolean DEFINE_boolean DEFINE_enum DEFINE_float
        DEFINE_integer DEFINE_list DEFINE_multi_float DEFINE_multi_integer DEFINE_multi_string
        DEFINE_string FLAGS Flags mark_flag_as_required
    """,
    "gfile/1": """
    .file_ops: Copy DeleteRecursively Exists FastGFile Glob IsDirectory ListDirectory MakeDirs
        MkDir Open Remove Rename Stat Walk
    _tf.files: GFile
    """,
    "image": """
    @images: adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality
        adjust_saturation central_crop convert_image_dtype crop_and_resize crop_to_bounding_box
        draw_bounding_boxes flip_left_right flip_up_down grayscale_to_rgb hsv_to_rgb
        non_max_suppression pad_to_bounding_box per_image_standardization
        resize_with_crop_or_pad rgb_to_grayscale rgb_to_hsv rot90 transpose
    @measures: combined_non_max_suppression extract_patches image_gradients
        non_max_suppression_overlaps non_max_suppression_padded non_max_suppression_with_scores
        psnr rgb_to_yiq rgb_to_yuv sobel_edges ssim ssim_multiscale total_variation yiq_to_rgb
        yuv_to_rgb
    @codecs: decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png
        encode_jpeg encode_png extract_jpeg_shape is_jpeg
    .draws:image_draws: random_brightness random_contrast random_crop random_flip_left_right
        random_flip_up_down random_hue random_jpeg_quality random_saturation
        stateless_random_brightness stateless_random_contrast stateless_random_crop
        stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue
        stateless_random_jpeg_quality stateless_random_saturation
    .image_ops/1: ResizeMethod resize
    .image_ops/1: extract_glimpse resize_area resize_bicubic resize_bilinear
        resize_image_with_pad resize_images resize_nearest_neighbor
    .draws:draws/1: sample_distorted_bounding_box=distorted_box
    .draws:draws/2: sample_distorted_bounding_box
    @images/1: per_image_whitening=per_image_standardization
        resize_image_with_crop_or_pad=resize_with_crop_or_pad transpose_image=transpose
    @measures/1: extract_image_patches=extract_patches
    .array_ops/2: ResizeMethod resize resize_with_pad
    .draws:stateless: stateless_sample_distorted_bounding_box=sample_distorted_bounding_box
    """,
    "initializers/1": """
    .variables: constant=constant_initializer ones=ones_initializer
        random_normal=random_normal_initializer random_uniform=random_uniform_initializer
        truncated_normal=truncated_normal_initializer zeros=zeros_initializer
    .variables: global_variables=global_variables_initializer
        local_variables=local_variables_initializer variables=variables_initializer
    """,
    "io": """
    @parsers: decode_csv decode_json_example deserialize_many_sparse parse_example
        parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor
        serialize_many_sparse serialize_sparse serialize_tensor
    @codecs: decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png
        encode_jpeg encode_png extract_jpeg_shape is_jpeg
    _tf.features: FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature
        VarLenFeature
    .file_ops: matching_files read_file write_file
    .file_ops/1: match_filenames_once
    .file_ops/2: match_filenames_once=matching_files
    @encodings: decode_base64 decode_compressed encode_base64
    _tf.records: TFRecordOptions TFRecordWriter
    .queues/1: PaddingFIFOQueue PriorityQueue RandomShuffleQueue
    .queue_base/1: QueueBase
    _tf.records/1: TFRecordCompressionType tf_record_iterator
    .string_ops/1: decode_raw
    @parsers/2: decode_raw
    """,
    "io.gfile": """
    _tf.files: GFile copy exists glob=glob_files isdir join listdir makedirs mkdir remove rename
        rmtree stat walk
    """,
    "keras": "",
    "keras.backend": """
    @keras: all any argmax argmin cast cast_to_floatx clip concatenate constant dot dtype
        epsilon expand_dims flatten floatx image_data_format int_shape is_sparse is_tensor max
        mean min ndim permute_dimensions prod reshape squeeze sum transpose
    @arrays: arange=range ones ones_like reverse shape stack tile zeros zeros_like
    @math: abs cos equal exp greater greater_equal less less_equal log maximum minimum not_equal
        pow round sigmoid sign sin sqrt square tanh
    @picking: gather one_hot
    @products: eye
    """,
    "keras.preprocessing": "",
    "keras.preprocessing.sequence": "_tf.keras: pad_sequences",
    "keras.utils": "_tf.keras: normalize pad_sequences to_categorical",
    "linalg": """
    @rare_matrices: adjoint cholesky cross logdet matrix_transpose normalize pinv set_diag solve
    @matrices: band_part det diag diag_part inv trace
    @products: einsum eye tensordot
    @math: matmul
    @reductions: norm
    @reductions/2: l2_normalize
    .array_ops/2: matvec
    """,
    "logging/1": """
    .summaries: DEBUG ERROR FATAL INFO WARN debug error fatal get_verbosity info log
        set_verbosity warn warning
    """,
    "lookup": """
    _tf.faces.lookup: KeyValueTensorInitializer TextFileIndex TextFileInitializer
    .tables/1: HashTable StaticHashTable StaticVocabularyTable index_table_from_file
        index_table_from_tensor index_to_string_table_from_file
        index_to_string_table_from_tensor
    .file_ops/2: StaticHashTable StaticVocabularyTable
    """,
    "lookup.experimental": """
    .tables/1: DenseHashTable MutableHashTable
    .file_ops/2: DenseHashTable MutableHashTable
    """,
    "math": """
    @math: abs acos add add_n asin atan atan2 ceil cos cosh divide divide_no_nan equal erf exp
        expm1 floor floordiv floormod greater greater_equal is_finite is_inf is_nan less
        less_equal log log1p logical_and logical_not logical_or logical_xor maximum minimum mod
        multiply multiply_no_nan negative not_equal pow reciprocal rint round rsqrt sigmoid sign
        sin sinh sqrt square squared_difference subtract tan tanh truediv
    @special: accumulate_n acosh angle asinh atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e
        betainc confusion_matrix conj cumprod cumulative_logsumexp digamma erfc erfcinv erfinv
        igamma igammac imag in_top_k is_non_decreasing is_strictly_increasing lbeta lgamma
        log_sigmoid ndtri nextafter polygamma polyval real reciprocal_no_nan
        reduce_euclidean_norm scalar_mul softsign unsorted_segment_sqrt_n xdivy xlog1py xlogy
        zero_fraction zeta
    @reductions: argmax argmin count_nonzero cumsum l2_normalize reduce_all reduce_any
        reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_std reduce_sum
        reduce_variance
    @segments: bincount invert_permutation segment_max segment_mean segment_min segment_prod
        segment_sum unsorted_segment_max unsorted_segment_mean unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sum
    @activations: log_softmax softmax softplus
    @ordering: top_k
    """,
    "nest": "_tf.nest: assert_same_structure flatten is_nested map_structure pack_sequence_as",
    "nn": """
    @special: elu in_top_k leaky_relu relu6 selu silu softsign swish zero_fraction
    @activations: log_softmax relu softmax softplus
    @warps: depthwise_conv2d max_pool max_pool2d
    @pixels: depth_to_space space_to_depth
    @math: sigmoid tanh
    @reductions: l2_normalize
    .array_ops: moments
    @ordering: top_k
    .draws:draws/1: log_uniform_candidate_sampler uniform_candidate_sampler
    .image_ops/1: embedding_lookup
    @special/2: gelu
    """,
    "python_io/1": """
    _tf.records: TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator
    """,
    "queue/1": """
    .queues: FIFOQueue PaddingFIFOQueue PriorityQueue RandomShuffleQueue
    .queue_base: QueueBase
    """,
    "ragged": """
    @ragged: boolean_mask constant map_flat_values range row_splits_to_segment_ids
        segment_ids_to_row_splits stack
    .composite_ops/1: constant_value placeholder
    ._composites/1: RaggedTensorValue
    """,
    "random": """
    .draws:draws: categorical gamma log_uniform_candidate_sampler normal shuffle truncated_normal
        uniform uniform_candidate_sampler
    .draws:stateless: fold_in split stateless_categorical=categorical stateless_normal=normal
        stateless_shuffle=shuffle stateless_truncated_normal=truncated_normal
        stateless_uniform=uniform
    .draws/1: get_seed set_random_seed
    .draws:draws/1: multinomial
    .draws/2: Generator create_rng_state get_global_generator set_global_generator
    _tf.seeds/2: set_seed
    """,
    "random.experimental/2": """
    .draws: Generator create_rng_state get_global_generator set_global_generator
    .draws:stateless: stateless_fold_in=fold_in stateless_shuffle=shuffle stateless_split=split
    """,
    "raw_ops": """
    @warps: ImageProjectiveTransformV2 ImageProjectiveTransformV3
    .control_flow_ops/1: Merge=merge Switch=switch
    """,
    "signal": """
    @signals: dct fft frame hamming_window hann_window ifft irfft linear_to_mel_weight_matrix
        mfccs_from_log_mel_spectrograms rfft stft
    """,
    "sparse": """
    @sparse: add concat cross cross_hashed expand_dims eye fill_empty_rows from_dense mask
        maximum minimum reduce_max reduce_sum reorder reset_shape reshape retain slice
        sparse_dense_matmul split to_dense to_indicator transpose
    ._composites/1: SparseTensor
    .composite_ops/1: placeholder=sparse_placeholder
    _tf.composite/2: SparseTensor
    @sparse/2: map_values
    """,
    "strings": """
    @characters: bytes_split format ngrams to_hash_bucket to_hash_bucket_strong unicode_decode
        unicode_decode_with_offsets unicode_encode unicode_script unicode_split
        unicode_split_with_offsets unicode_transcode unsorted_segment_join
    @strings: as_string join length lower reduce_join regex_full_match regex_replace strip
        substr to_hash_bucket_fast to_number upper
    @strings/1: split
    .file_ops/2: split
    """,
    "summary/1": ".summaries: FileWriter audio histogram image merge merge_all scalar text",
    "train": """
    fastrec.train: BytesList Example Feature FeatureList FeatureLists Features FloatList
        Int64List SequenceExample
    .batching/1: batch batch_join maybe_batch maybe_batch_join maybe_shuffle_batch
        maybe_shuffle_batch_join shuffle_batch shuffle_batch_join
    .batching/1: input_producer limit_epochs range_input_producer slice_input_producer
        string_input_producer
    .runners/1: Coordinator LooperThread
    .runners/1: QueueRunner add_queue_runner start_queue_runners
    .variables/1: create_global_step=get_or_create_global_step get_or_create_global_step
    .file_ops/1: match_filenames_once
    """,
    "train.queue_runner/1": ".runners: QueueRunner add_queue_runner start_queue_runners",
    "version/2": "_tf.settings: COMPILER_VERSION GIT_VERSION VERSION",
    "xla": "",
    "xla.experimental": "_tf.settings: jit_scope",
}


@functools.cache
def names_of(version: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the name spaces of a version: for each name, its module and its name there."""
    spaces: dict[str, dict[str, tuple[str, str]]] = {}
    for key, text in NAMES.items():
        path, _, only = key.partition("/")
        if only not in ("", version[1:]):
            continue
        names = spaces.setdefault(path, {})
        home = ""
        for word in text.split():
            if word.endswith(":"):
                home, _, only = word[:-1].partition("/")
            elif only in ("", version[1:]):
                name, _, other = word.partition("=")
                names[name] = home, other or name
    for path in filter(None, list(spaces)):
        space, _, name = path.rpartition(".")
        spaces[space].setdefault(name, ("", ""))
    return spaces


def _named(version: str, home: str, name: str) -> Any:
    """Return the object with a name in a module, an object, or a topic."""
    package = "fastrec.compat"
    if home.partition(".")[0] == "tf":
        return found(version, home[3:], name)
    if home.startswith("@"):
        home = f"._faces:{home[1:]}"
    if home.startswith("."):
        home = f"{version}{home}"
    if not home.startswith("fastrec."):
        home = f"{package}.{home}"
    module, _, path = home.partition(":")
    if module == package:
        return importlib.import_module(f"{package}.{name}")
    owner: Any = importlib.import_module(module)
    for part in filter(None, [*path.split("."), name]):
        owner = getattr(owner, part)
    return owner


def found(version: str, space: str, name: str) -> Any:
    """Return what ``tf.space.name`` is; `space` is empty for ``tf.name``.

    Raises
    ------
    AttributeError
        If the version does not have the name.
    """
    names = names_of(version)
    if name not in names[space]:
        if name.startswith("__"):
            raise AttributeError(name)
        raise uncovered(version, space, name)
    path = f"{space}.{name}".lstrip(".")
    if path in names:
        return Namespace(version, path)
    home, other = names[space][name]
    return renamed(_named(version, home, other), name)


class Namespace(ModuleType):
    """A name space of a version, such as ``tf.image``. A name is imported when it is first used.

    Parameters
    ----------
    version : {"v1", "v2"}
    path : str
        The path of the name space below ``tf``.
    """

    def __init__(self, version: str, path: str) -> None:
        super().__init__(f"fastrec.compat.{version}.{path}", f"``tf.{path}``.")
        self.__path__: list[str] = []  # its submodules are attributes, not files
        self._version, self._names = version, path

    def __getattr__(self, name: str) -> Any:
        return self.__dict__.setdefault(name, found(self._version, self._names, name))

    def __dir__(self) -> list[str]:
        return list(names_of(self._version)[self._names])
