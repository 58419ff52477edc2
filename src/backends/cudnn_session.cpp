#include "backends/cudnn_session.h"

namespace isomer::backends::cudnn {

Result<std::shared_ptr<Session>> Session::open(std::shared_ptr<const Library> library,
                                               runtime::cuda::GpuDevice& device) {
  std::shared_ptr<Session> made(new Session(std::move(library), device));
  TRY_VOID(made->library().check(made->library().create(&made->handle_), "a handle"));
  auto workspace = device.allocate(kWorkspace);
  if (!workspace) return unsupported("cudnn", "{} bytes of workspace expected", kWorkspace);
  made->workspace_ = std::move(*workspace);
  return made;
}

Session::~Session() {
  const runtime::cuda::Gpu::Current current(device_.gpu());
  if (handle_) library_->destroy(handle_);
}

gpu::Enqueue Session::in_stream(Call call) {
  return [session = shared_from_this(), call = std::move(call)](Stream stream) -> Result<void> {
    const Library& library = session->library();
    TRY_VOID(library.check(library.set_stream(session->handle(), stream), "a stream"));
    return library.check(call(), "a call that runs");
  };
}

}  // namespace isomer::backends::cudnn
