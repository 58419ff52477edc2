/* Runs an artifact once on inputs of ones and prints the first elements of each output:
 *
 *   cc -std=c99 -o run_artifact docs/run_artifact.c -Iinclude -Lbuild/lib -Wl,-rpath,$PWD/build/lib -lisomer
 *   ./run_artifact model.iso [name=value ...]       (values of symbolic dims, where the artifact has several variants)
 */
#include <isomer/isomer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PORTS = 64, MOST_BINDINGS = 16, SHOWN = 8 };

static void check(isomer_status status) {
  if (status == ISOMER_OK) return;
  fprintf(stderr, "run_artifact: %s\n", isomer_last_error());
  exit(1);
}

/* Ones where the type is one of the common ones, else zeros. */
static void fill(isomer_tensor* tensor) {
  const int64_t bytes = isomer_tensor_bytes(tensor);
  int64_t i;
  if (bytes < 0 || (tensor->data = calloc(1, (size_t)bytes + 1)) == NULL) {
    fprintf(stderr, "run_artifact: no memory for an input\n");
    exit(1);
  }
  if (tensor->dtype == ISOMER_FLOAT32)
    for (i = 0; i < bytes / 4; ++i) ((float*)tensor->data)[i] = 1;
  if (tensor->dtype == ISOMER_INT64)
    for (i = 0; i < bytes / 8; ++i) ((int64_t*)tensor->data)[i] = 1;
}

static void print(const char* name, const isomer_tensor* tensor) {
  const int64_t bytes = isomer_tensor_bytes(tensor);
  int64_t i;
  printf("%s: type %d, shape [", name, tensor->dtype);
  for (i = 0; i < tensor->rank; ++i) printf("%s%lld", i ? "," : "", (long long)tensor->dims[i]);
  printf("]:");
  if (tensor->dtype == ISOMER_FLOAT32)
    for (i = 0; i < bytes / 4 && i < SHOWN; ++i) printf(" %g", ((const float*)tensor->data)[i]);
  else if (tensor->dtype == ISOMER_INT64)
    for (i = 0; i < bytes / 8 && i < SHOWN; ++i) printf(" %lld", (long long)((const int64_t*)tensor->data)[i]);
  printf("\n");
}

int main(int argc, char** argv) {
  isomer_model* model;
  isomer_session* session;
  isomer_binding bindings[MOST_BINDINGS];
  isomer_options options = {0, bindings, 0};
  isomer_tensor inputs[MOST_PORTS], outputs[MOST_PORTS];
  size_t input_count, output_count, k;

  if (argc < 2 || argc - 2 > MOST_BINDINGS) {
    fprintf(stderr, "usage: run_artifact FILE [name=value ...]\n");
    return 2;
  }
  for (; options.binding_count < (size_t)(argc - 2); ++options.binding_count) {
    char* equals = strchr(argv[options.binding_count + 2], '=');
    if (equals == NULL) {
      fprintf(stderr, "run_artifact: name=value expected, %s found\n", argv[options.binding_count + 2]);
      return 2;
    }
    *equals = '\0';
    bindings[options.binding_count].name = argv[options.binding_count + 2];
    bindings[options.binding_count].value = atoll(equals + 1);
  }

  check(isomer_model_open(argv[1], &model));
  check(isomer_session_create(model, &options, &session));
  isomer_model_close(model); /* the session keeps what it needs */
  check(isomer_session_input_count(session, &input_count));
  check(isomer_session_output_count(session, &output_count));
  if (input_count > MOST_PORTS || output_count > MOST_PORTS) {
    fprintf(stderr, "run_artifact: at most %d inputs and outputs expected\n", MOST_PORTS);
    return 1;
  }
  for (k = 0; k < input_count; ++k) {
    check(isomer_session_input(session, k, NULL, &inputs[k]));
    fill(&inputs[k]);
  }
  memset(outputs, 0, sizeof outputs); /* data NULL: the session supplies the memory */
  check(isomer_session_run(session, inputs, input_count, outputs, output_count));
  for (k = 0; k < output_count; ++k) {
    const char* name;
    check(isomer_session_output(session, k, &name, NULL));
    print(name, &outputs[k]);
  }
  for (k = 0; k < input_count; ++k) free(inputs[k].data);
  isomer_session_close(session);
  return 0;
}
