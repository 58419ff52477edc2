#include "backends/cublaslt_library.h"

#include "backends/foreign_functions.h"

namespace isomer::backends::cublaslt {

int type_of(DataType dtype) {
  if (dtype == DataType::kFloat32) return kFloat;
  CHECK(dtype == DataType::kFloat16 || dtype == DataType::kBFloat16) << "an element type of operands";
  return dtype == DataType::kFloat16 ? kHalf : kBFloat16;
}

Result<std::shared_ptr<const Library>> Library::open(const std::string& file) {
  TRY(auto find, backends::ForeignFunctions::open(file, "cublaslt"));
  auto made = std::make_shared<Library>();
  find(made->get_version, "cublasLtGetVersion");
  find(made->status_string, "cublasLtGetStatusString");
  find(made->create, "cublasLtCreate");
  find(made->destroy, "cublasLtDestroy");
  find(made->create_product, "cublasLtMatmulDescCreate");
  find(made->destroy_product, "cublasLtMatmulDescDestroy");
  find(made->set_product, "cublasLtMatmulDescSetAttribute");
  find(made->create_matrix, "cublasLtMatrixLayoutCreate");
  find(made->destroy_matrix, "cublasLtMatrixLayoutDestroy");
  find(made->set_matrix, "cublasLtMatrixLayoutSetAttribute");
  find(made->create_preference, "cublasLtMatmulPreferenceCreate");
  find(made->destroy_preference, "cublasLtMatmulPreferenceDestroy");
  find(made->set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(made->propose, "cublasLtMatmulAlgoGetHeuristic");
  find(made->get_configuration, "cublasLtMatmulAlgoConfigGetAttribute");
  find(made->multiply, "cublasLtMatmul");
  TRY_VOID(find.are_all_there());
  const size_t version = made->get_version();
  made->version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  if (version / 10000 != 12 && version / 10000 != 13)
    return unsupported("cublaslt", "version 12 or 13 expected, {} found", made->version);
  return std::shared_ptr<const Library>(std::move(made));
}

Result<void> Library::check(Status status, std::string_view what) const {
  if (status == 0) return {};
  const char* const said = status_string(status);
  return unsupported("cublaslt", "{} expected, {} found", what, said ? said : fmt::format("status {}", status));
}

}  // namespace isomer::backends::cublaslt
