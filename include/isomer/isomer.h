/* Isomer's C interface: opens an artifact (.iso, made by `isomer compile`) and runs it. C99.
 *
 * Every function that can fail returns a status; isomer_last_error() then holds one sentence for people. Pointers that
 * a function hands out belong to the model or session that it was asked of and live as long as that does, unless said
 * otherwise. docs/run_artifact.c is a complete example. */
#ifndef ISOMER_ISOMER_H
#define ISOMER_ISOMER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ISOMER_API __attribute__((visibility("default")))
#else
#define ISOMER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum isomer_status {
  ISOMER_OK = 0,
  ISOMER_INVALID_ARGUMENT =
      1,                   /* a null pointer, a wrong count, type or shape, bindings that the artifact doesn't have */
  ISOMER_INVALID_FILE = 2, /* no artifact, or a damaged one */
  ISOMER_UNSUPPORTED = 3,  /* another machine's artifact or format version, not enough memory */
  ISOMER_RUN_FAILED = 4,   /* the data led to an index outside of its axis, a division by zero, a wrong shape; the
                               file changed while it was in use */
  ISOMER_INTERNAL = 5      /* a bug in Isomer */
} isomer_status;

/* Element types, by ONNX's numbers (TensorProto.DataType). */
typedef enum isomer_dtype {
  ISOMER_FLOAT32 = 1,
  ISOMER_UINT8 = 2,
  ISOMER_INT8 = 3,
  ISOMER_UINT16 = 4,
  ISOMER_INT16 = 5,
  ISOMER_INT32 = 6,
  ISOMER_INT64 = 7,
  ISOMER_BOOL = 9,
  ISOMER_FLOAT16 = 10,
  ISOMER_FLOAT64 = 11,
  ISOMER_UINT32 = 12,
  ISOMER_UINT64 = 13,
  ISOMER_COMPLEX64 = 14,
  ISOMER_COMPLEX128 = 15,
  ISOMER_BFLOAT16 = 16,
  ISOMER_FLOAT8E4M3FN = 17,
  ISOMER_FLOAT8E4M3FNUZ = 18,
  ISOMER_FLOAT8E5M2 = 19,
  ISOMER_FLOAT8E5M2FNUZ = 20,
  ISOMER_UINT4 = 21,
  ISOMER_INT4 = 22,
  ISOMER_FLOAT4E2M1 = 23,
  ISOMER_FLOAT8E8M0 = 24,
  ISOMER_UINT2 = 25,
  ISOMER_INT2 = 26
} isomer_dtype;

/* ISOMER_CUDA as DLPack counts. */
typedef enum isomer_device { ISOMER_CPU = 0, ISOMER_CUDA = 2 } isomer_device;

/* Row-major, without gaps; elements of less than a byte (ISOMER_INT4) are the low bits of one each. */
typedef struct isomer_tensor {
  int32_t dtype; /* an isomer_dtype */
  int32_t rank;
  const int64_t* dims; /* rank of them; may be NULL for rank 0 */
  void* data;          /* a multiple of 64 saves a copy */
  int32_t device;      /* an isomer_device: where `data` lies */
  void* stream;        /* the device's stream (CUstream) that `data` is ready in; NULL on the CPU */
} isomer_tensor;

/* The value of one of the model's symbolic dims. */
typedef struct isomer_binding {
  const char* name;
  int64_t value;
} isomer_binding;

typedef struct isomer_options {
  int32_t threads;                /* 0: as many as this process may use */
  const isomer_binding* bindings; /* all symbolic dims, or none where the artifact has one variant only */
  size_t binding_count;
} isomer_options;

typedef struct isomer_model isomer_model;
typedef struct isomer_session isomer_session;

/* "0.1.0" */
ISOMER_API const char* isomer_version(void);

/* The sentence of this thread's last call that did not return ISOMER_OK; lives until the thread's next such call. */
ISOMER_API const char* isomer_last_error(void);

/* Header, plan and code are checked, the weights mapped. Models may be used by several threads at a time.
 *
 * An artifact is a program: running one runs its machine code with the rights of this process, and the checks find
 * damage, not intent (its hashes are no signature). Open only what you would execute. Replace a file that is in use by
 * renaming another one over it: once it was cut short or written over in place, runs fail. */
ISOMER_API isomer_status isomer_model_open(const char* path, isomer_model** model);
/* Sessions of the model stay usable. NULL is allowed. */
ISOMER_API void isomer_model_close(isomer_model* model);

/* Reads all of the file's weights and tells whether they are what was written. */
ISOMER_API isomer_status isomer_artifact_verify(const char* path);

/* Variants that this machine runs: the same model for different bindings of its symbolic dims. */
ISOMER_API isomer_status isomer_model_variant_count(const isomer_model* model, size_t* count);
ISOMER_API isomer_status isomer_model_binding_count(const isomer_model* model, size_t variant, size_t* count);
ISOMER_API isomer_status isomer_model_binding(const isomer_model* model, size_t variant, size_t k,
                                              isomer_binding* binding);

/* `options` NULL: all zero. */
ISOMER_API isomer_status isomer_session_create(const isomer_model* model, const isomer_options* options,
                                               isomer_session** session);
/* The same on a device of this machine: "cpu", "cuda" (its first GPU) or "cuda:1". Without one, a session is on what
 * the artifact prefers of what is here. */
ISOMER_API isomer_status isomer_session_create_on(const isomer_model* model, const char* device,
                                                  const isomer_options* options, isomer_session** session);
ISOMER_API void isomer_session_close(isomer_session* session);

/* What the session takes and gives: `tensor` gets type and dims (-1: data decide), its other fields zeros. */
ISOMER_API isomer_status isomer_session_input_count(const isomer_session* session, size_t* count);
ISOMER_API isomer_status isomer_session_output_count(const isomer_session* session, size_t* count);
ISOMER_API isomer_status isomer_session_input(const isomer_session* session, size_t k, const char** name,
                                              isomer_tensor* tensor);
ISOMER_API isomer_status isomer_session_output(const isomer_session* session, size_t k, const char** name,
                                               isomer_tensor* tensor);

/* Bytes of elements of this type and these dims; -1 where there is no such tensor or a dim is negative. */
ISOMER_API int64_t isomer_tensor_bytes(const isomer_tensor* tensor);

/* Runs the model. Inputs are only read. An output of known shape is written to its `data`; then its type and dims must
 * be the session's. One whose memory overlaps an input's or another output's is written when all are computed, in their
 * order, by a copy. Where `data` is NULL, and for every output with a dim that data decide (whatever its other fields
 * say), the session supplies memory on its `device` that stays until its next run, which may take it as an input, by a
 * copy. All fields of the outputs are filled. After a failure the outputs' content is undefined. Calls of several
 * threads run one after the other: each is the next run for what another one was given.
 *
 * A session on a GPU takes tensors of that GPU as they are, and those of the CPU by copies. Where all tensors of the
 * GPU name one stream, it works in that, else after what they hold; all is done when it returns. */
ISOMER_API isomer_status isomer_session_run(isomer_session* session, const isomer_tensor* inputs, size_t input_count,
                                            isomer_tensor* outputs, size_t output_count);

#ifdef __cplusplus
}
#endif

#endif /* ISOMER_ISOMER_H */
