#include "backends/cudnn_backend.h"

#include <algorithm>

namespace isomer::backends::cudnn::backend {
namespace {

Result<Descriptor> create(const Library& library, Kind kind) {
  Object object = nullptr;
  TRY_VOID(library.check(library.backend_create(static_cast<int>(kind), &object), "a descriptor"));
  return Descriptor(object, library.backend_destroy);
}

}  // namespace

Builder::Builder(const Library& library, Kind kind) : library_(library), kind_(kind) {
  Object object = nullptr;
  status_ = library.backend_create(static_cast<int>(kind), &object);
  if (status_ == 0) made_ = Descriptor(object, library.backend_destroy);
}

Builder& Builder::set(Name name, const std::vector<Descriptor>& all) {
  std::vector<Object> objects;
  for (const Descriptor& one : all) objects.push_back(one.get());
  return set_all(name, Type::kDescriptor, static_cast<int64_t>(objects.size()),
                 static_cast<const void*>(objects.data()));
}

Builder& Builder::set_all(Name name, Type type, int64_t count, const void* elements) {
  if (status_ != 0) return *this;
  status_ = library_.backend_set(made_.get(), static_cast<int>(name), static_cast<int>(type), count, elements);
  if (status_ != 0) failed_ = static_cast<int>(name);
  return *this;
}

Result<Descriptor> Builder::finalize() {
  if (status_ == 0) status_ = library_.backend_finalize(made_.get());
  if (status_ == 0) return std::move(made_);
  return unsupported("cudnn", "a descriptor of kind {} expected, {} found{}", static_cast<int>(kind_),
                     library_.describe(status_), failed_ < 0 ? "" : fmt::format(" at attribute {}", failed_));
}

Result<std::vector<Descriptor>> get_all(const Library& library, const Descriptor& from, Name name, Kind kind,
                                        int64_t most) {
  std::vector<Descriptor> all;
  std::vector<Object> objects;
  for (int64_t k = 0; k < most; ++k) {
    TRY(Descriptor one, create(library, kind));
    objects.push_back(one.get());
    all.push_back(std::move(one));
  }
  int64_t count = 0;
  TRY_VOID(library.check(library.backend_get(from.get(), static_cast<int>(name), static_cast<int>(Type::kDescriptor),
                                             most, &count, static_cast<void*>(objects.data())),
                         "descriptors"));
  all.resize(static_cast<size_t>(std::min(count, most)));
  return all;
}

}  // namespace isomer::backends::cudnn::backend
