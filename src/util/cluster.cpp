#include "util/cluster.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace isomer {
namespace {

constexpr const char* kLibrary = "libmpi.so.40";
constexpr size_t kMostAtOnce = size_t{1} << 30;
constexpr int kTag = 7;

Error failure(std::string_view what) { return Error{ErrorKind::kUnsupported, "MPI", std::string(what)}; }

}  // namespace

/// Open MPI's binary interface: handles are addresses of its objects.
class Cluster::Mpi {
 public:
  static Result<std::unique_ptr<Mpi>> open() {
    auto mpi = std::make_unique<Mpi>();
    void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return failure(fmt::format("{} expected, as mpirun started this process; {}", kLibrary, dlerror()));
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    if (!find(mpi->init_, "MPI_Init") || !find(mpi->finalize_, "MPI_Finalize") ||
        !find(mpi->rank_of_, "MPI_Comm_rank") || !find(mpi->size_of_, "MPI_Comm_size") ||
        !find(mpi->barrier_, "MPI_Barrier") || !find(mpi->bcast_, "MPI_Bcast") || !find(mpi->send_, "MPI_Send") ||
        !find(mpi->recv_, "MPI_Recv") || !find(mpi->world_, "ompi_mpi_comm_world") ||
        !find(mpi->byte_, "ompi_mpi_byte"))
      return failure(fmt::format("Open MPI expected, {} is something else", kLibrary));
    if (const int code = mpi->init_(nullptr, nullptr); code != 0) return mpi->failed("MPI_Init", code);
    mpi->started_ = true;
    if (const int code = mpi->rank_of_(mpi->world_, &mpi->rank); code != 0) return mpi->failed("MPI_Comm_rank", code);
    if (const int code = mpi->size_of_(mpi->world_, &mpi->size); code != 0) return mpi->failed("MPI_Comm_size", code);
    return mpi;
  }

  ~Mpi() {
    if (started_) finalize_();
  }

  Result<void> barrier() { return done("MPI_Barrier", barrier_(world_)); }

  Result<void> broadcast(std::string& bytes) {
    uint64_t count = bytes.size();
    TRY_VOID(done("MPI_Bcast", bcast_(&count, sizeof count, byte_, 0, world_)));
    bytes.resize(count);
    for (size_t at = 0; at < bytes.size(); at += kMostAtOnce)
      TRY_VOID(done("MPI_Bcast", bcast_(bytes.data() + at, static_cast<int>(std::min(kMostAtOnce, bytes.size() - at)),
                                        byte_, 0, world_)));
    return {};
  }

  Result<void> send(const std::string& bytes) {
    const uint64_t count = bytes.size();
    TRY_VOID(done("MPI_Send", send_(&count, sizeof count, byte_, 0, kTag, world_)));
    for (size_t at = 0; at < bytes.size(); at += kMostAtOnce)
      TRY_VOID(done("MPI_Send", send_(bytes.data() + at, static_cast<int>(std::min(kMostAtOnce, bytes.size() - at)),
                                      byte_, 0, kTag, world_)));
    return {};
  }

  Result<std::string> receive(int from) {
    uint64_t count = 0;
    TRY_VOID(done("MPI_Recv", recv_(&count, sizeof count, byte_, from, kTag, world_, nullptr)));
    std::string bytes(count, '\0');
    for (size_t at = 0; at < bytes.size(); at += kMostAtOnce)
      TRY_VOID(done("MPI_Recv", recv_(bytes.data() + at, static_cast<int>(std::min(kMostAtOnce, bytes.size() - at)),
                                      byte_, from, kTag, world_, nullptr)));
    return bytes;
  }

  int rank = 0, size = 1;

 private:
  /// What a function of MPI's says: 0 where it has done it.
  Error failed(std::string_view function, int code) const {
    return failure(fmt::format("{} that succeeds expected, code {} found, in process {}", function, code, rank));
  }
  Result<void> done(std::string_view function, int code) const {
    return code == 0 ? Result<void>() : failed(function, code);
  }

  int (*init_)(int*, char***) = nullptr;
  int (*finalize_)() = nullptr;
  int (*rank_of_)(void*, int*) = nullptr;
  int (*size_of_)(void*, int*) = nullptr;
  int (*barrier_)(void*) = nullptr;
  int (*bcast_)(void*, int, void*, int, void*) = nullptr;
  int (*send_)(const void*, int, void*, int, int, void*) = nullptr;
  int (*recv_)(void*, int, void*, int, int, void*, void*) = nullptr;
  void* world_ = nullptr;
  void* byte_ = nullptr;
  bool started_ = false;
};

Cluster::Cluster(std::unique_ptr<Mpi> mpi) : mpi_(std::move(mpi)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

Result<Cluster> Cluster::join() {
  if (!std::getenv("OMPI_COMM_WORLD_SIZE")) return Cluster(nullptr);
  TRY(std::unique_ptr<Mpi> mpi, Mpi::open());
  return Cluster(std::move(mpi));
}

int Cluster::rank() const { return mpi_ ? mpi_->rank : 0; }
int Cluster::size() const { return mpi_ ? mpi_->size : 1; }
Result<void> Cluster::barrier() { return mpi_ ? mpi_->barrier() : Result<void>(); }

Result<std::string> Cluster::broadcast(std::string bytes) {
  if (mpi_) TRY_VOID(mpi_->broadcast(bytes));
  return bytes;
}

Result<std::vector<std::string>> Cluster::gather(std::string bytes) {
  std::vector<std::string> result;
  if (!is_first()) {
    TRY_VOID(mpi_->send(bytes));
    return result;
  }
  result.push_back(std::move(bytes));
  for (int from = 1; from < size(); ++from) {
    TRY(std::string received, mpi_->receive(from));
    result.push_back(std::move(received));
  }
  return result;
}

}  // namespace isomer
