// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/communicator.h"

#include "base/log.h"
#include "nvidia/buffer.h"
#include "nvidia/nccl_group.h"
#include "nvidia/stream.h"

#include <exception>

namespace ncclprobe::nvidia {
namespace {

// Numbers that older headers lack, or hide without the CUDA type. Source: nccl.h of 2.28.
constexpr int k_bfloat16 = 9;
constexpr int k_float8e4m3 = 10;
constexpr int k_float8e5m2 = 11;
constexpr int k_first_version_with_f8 = 22400;
constexpr int k_first_gpu_that_reduces_f8 = 9; // compute capability

ncclDataType_t nccl_type(model::DataType type) {
  using enum model::DataType;
  switch (type) {
  case f32:
    return ncclFloat32;
  case f16:
    return ncclFloat16;
  case bf16:
    return static_cast<ncclDataType_t>(k_bfloat16);
  case f64:
    return ncclFloat64;
  case i32:
    return ncclInt32;
  case u8:
    return ncclUint8;
  case i8:
    return ncclInt8;
  case u32:
    return ncclUint32;
  case i64:
    return ncclInt64;
  case u64:
    return ncclUint64;
  case f8e4m3:
    return static_cast<ncclDataType_t>(k_float8e4m3);
  case f8e5m2:
    return static_cast<ncclDataType_t>(k_float8e5m2);
  }
  raise(Errc::unsupported, "NCCL has no type {}", model::to_string(type));
}

ncclRedOp_t nccl_op(model::ReduceOp op) {
  using enum model::ReduceOp;
  switch (op) {
  case sum:
    return ncclSum;
  case max:
    return ncclMax;
  case min:
    return ncclMin;
  case avg:
    return ncclAvg;
  case prod:
    return ncclProd;
  case premul_sum:
    break;
  }
  raise(Errc::unsupported, "NCCL has no operation {}", model::to_string(op));
}

std::byte* address(const backend::Place& place) {
  return static_cast<GpuBuffer&>(place.buffer).data() + place.offset;
}

cudaStream_t handle_of(backend::Stream& stream) {
  return static_cast<GpuStream&>(stream).handle();
}

} // namespace

NcclCommunicator::NcclCommunicator(std::shared_ptr<const NcclLibrary> nccl,
                                   std::shared_ptr<GroupDepth> depth,
                                   std::shared_ptr<PeerGroup> peers, std::shared_ptr<CudaGpu> gpu,
                                   ncclComm_t comm, Identity identity)
    : nccl_(std::move(nccl)), depth_(std::move(depth)), peers_(std::move(peers)),
      gpu_(std::move(gpu)), identity_(identity), barrier_scratch_(*gpu_), comm_(comm) {}

NcclCommunicator::~NcclCommunicator() {
  if (comm_ == nullptr)
    return;
  // In an open group NCCL would only queue the call; the process is about to end anyway.
  if (depth_->open > 0)
    return;
  bool orderly = !peers_->broken && std::uncaught_exceptions() == 0;
  if (orderly && nccl_->red_op_destroy != nullptr)
    for (const auto& [type, op] : premul_sums_)
      (void)nccl_->red_op_destroy(op, comm_);
  ncclResult_t code = orderly ? nccl_->comm_destroy(comm_) : nccl_->comm_abort(comm_);
  gpu_->forget_current();
  if (code == ncclSuccess)
    return;
  try {
    spdlog::warn("{}: {}", orderly ? "ncclCommDestroy" : "ncclCommAbort",
                 nccl_->get_error_string(code));
  } catch (...) { // a log line is not worth the process
  }
}

// Runs `call`; if NCCL reports an error, the communicator can no longer be destroyed normally.
template <typename Call>
void NcclCommunicator::watch(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    if (error.error().code == Errc::failed || error.error().code == Errc::peer_ended)
      give_up();
    throw;
  }
}

void NcclCommunicator::require_support(model::Collective collective, model::DataType type,
                                       model::ReduceOp op) {
  bool reduces = model::reduces(collective);
  if (model::is_f8(type) && nccl_->version_code < k_first_version_with_f8)
    raise(Errc::unsupported, "NCCL {} has no {}: it needs 2.24", nccl_->version,
          model::to_string(type));
  if (model::is_f8(type) && reduces &&
      gpu_->compute_capability_major() < k_first_gpu_that_reduces_f8)
    raise(Errc::unsupported, "NCCL reduces {} only on GPUs of compute capability 9.0 and above",
          model::to_string(type));
  bool scales = op == model::ReduceOp::avg || op == model::ReduceOp::premul_sum;
  if (reduces && scales && model::is_f8(type) &&
      size() == 1) // its one-rank kernel has no such case
    raise(Errc::unsupported, "NCCL cannot do {} of {} in a communicator of one rank",
          model::to_string(op), model::to_string(type));
  if (reduces && op == model::ReduceOp::premul_sum && nccl_->red_op_create_premul_sum == nullptr)
    raise(Errc::unsupported, "NCCL {} has no premultiplied sum: it needs 2.11", nccl_->version);
}

ncclRedOp_t NcclCommunicator::op_of(model::ReduceOp op, model::DataType type) {
  if (op != model::ReduceOp::premul_sum)
    return nccl_op(op);
  auto found = premul_sums_.find(type);
  if (found != premul_sums_.end())
    return found->second;
  std::uint64_t scalar =
      model::encode(type, model::Number{model::k_premul_scalar}); // its low bytes come first
  ncclRedOp_t made = ncclSum;
  NCCLPROBE_NCCL_CALL(*nccl_, red_op_create_premul_sum(&made, &scalar, nccl_type(type),
                                                       ncclScalarHostImmediate, comm_));
  return premul_sums_.emplace(type, made).first->second;
}

void NcclCommunicator::enqueue(const backend::CollectiveCall& call, backend::Stream& stream) {
  watch([&] { enqueue_collective(call, stream); });
}

void NcclCommunicator::enqueue_collective(const backend::CollectiveCall& call,
                                          backend::Stream& on) {
  using enum model::Collective;
  const NcclLibrary& nccl = *nccl_;
  const std::byte* from = address(call.send);
  std::byte* to = address(call.receive);
  cudaStream_t stream = handle_of(on);
  require_support(call.collective, call.type, call.op);
  ncclDataType_t type = nccl_type(call.type);
  gpu_->use();
  switch (call.collective) {
  case all_reduce:
    NCCLPROBE_NCCL_CALL(
        nccl, all_reduce(from, to, call.count, type, op_of(call.op, call.type), comm_, stream));
    return;
  case all_gather:
    NCCLPROBE_NCCL_CALL(nccl, all_gather(from, to, call.count, type, comm_, stream));
    return;
  case reduce_scatter:
    NCCLPROBE_NCCL_CALL(
        nccl, reduce_scatter(from, to, call.count, type, op_of(call.op, call.type), comm_, stream));
    return;
  case broadcast:
    NCCLPROBE_NCCL_CALL(nccl, broadcast(from, to, call.count, type, call.root, comm_, stream));
    return;
  case reduce:
    NCCLPROBE_NCCL_CALL(nccl, reduce(from, to, call.count, type, op_of(call.op, call.type),
                                     call.root, comm_, stream));
    return;
  case all_to_all:
    this->all_to_all(from, to, call, stream);
    return;
  case gather:
    this->gather(from, to, call, stream);
    return;
  case scatter:
    this->scatter(from, to, call, stream);
    return;
  case send_recv:
  case all_to_all_v:
  case hypercube:
    break;
  }
  raise(Errc::invalid_argument, "{} is enqueued as sends and receives",
        model::to_string(call.collective));
}

// The three functions below use the library's own function if it exists (2.28 and later), otherwise
// the same grouped sends and receives as nccl-tests.
void NcclCommunicator::all_to_all(const std::byte* from, std::byte* to,
                                  const backend::CollectiveCall& call, cudaStream_t stream) {
  if (from == to)
    raise(Errc::unsupported, "NCCL cannot do an all-to-all in place");
  const NcclLibrary& nccl = *nccl_;
  ncclDataType_t type = nccl_type(call.type);
  if (nccl.all_to_all != nullptr) {
    NCCLPROBE_NCCL_CALL(nccl, all_to_all(from, to, call.count, type, comm_, stream));
    return;
  }
  exchange_blocks(from, Peers::everyone, to, Peers::everyone, call, stream);
}

void NcclCommunicator::gather(const std::byte* from, std::byte* to,
                              const backend::CollectiveCall& call, cudaStream_t stream) {
  const NcclLibrary& nccl = *nccl_;
  ncclDataType_t type = nccl_type(call.type);
  if (nccl.gather != nullptr) {
    NCCLPROBE_NCCL_CALL(nccl, gather(from, to, call.count, type, call.root, comm_, stream));
    return;
  }
  exchange_blocks(from, Peers::root, to, rank() == call.root ? Peers::everyone : Peers::nobody,
                  call, stream);
}

void NcclCommunicator::scatter(const std::byte* from, std::byte* to,
                               const backend::CollectiveCall& call, cudaStream_t stream) {
  const NcclLibrary& nccl = *nccl_;
  ncclDataType_t type = nccl_type(call.type);
  if (nccl.scatter != nullptr) {
    NCCLPROBE_NCCL_CALL(nccl, scatter(from, to, call.count, type, call.root, comm_, stream));
    return;
  }
  exchange_blocks(from, rank() == call.root ? Peers::everyone : Peers::nobody, to, Peers::root,
                  call, stream);
}

void NcclCommunicator::exchange_blocks(const std::byte* from, Peers receivers, std::byte* to,
                                       Peers senders, const backend::CollectiveCall& call,
                                       cudaStream_t stream) {
  const NcclLibrary& nccl = *nccl_;
  ncclDataType_t type = nccl_type(call.type);
  std::uint64_t block_bytes = call.count * model::size_bytes(call.type);
  auto include = [&](Peers peers, int peer) {
    return peers == Peers::everyone || (peers == Peers::root && peer == call.root);
  };
  auto offset = [&](Peers peers, int peer) {
    return peers == Peers::everyone ? static_cast<std::uint64_t>(peer) * block_bytes : 0;
  };
  NcclGroup group(nccl);
  for (int peer = 0; peer < size(); ++peer) {
    if (include(receivers, peer))
      NCCLPROBE_NCCL_CALL(
          nccl, send(from + offset(receivers, peer), call.count, type, peer, comm_, stream));
    if (include(senders, peer))
      NCCLPROBE_NCCL_CALL(nccl,
                          recv(to + offset(senders, peer), call.count, type, peer, comm_, stream));
  }
  group.end();
}

void NcclCommunicator::send(backend::Place from, std::uint64_t count, model::DataType type,
                            int peer, backend::Stream& stream) {
  watch([&] {
    require_support(model::Collective::send_recv, type, model::ReduceOp::sum);
    gpu_->use();
    NCCLPROBE_NCCL_CALL(
        *nccl_, send(address(from), count, nccl_type(type), peer, comm_, handle_of(stream)));
  });
}

void NcclCommunicator::receive(backend::Place into, std::uint64_t count, model::DataType type,
                               int peer, backend::Stream& stream) {
  watch([&] {
    require_support(model::Collective::send_recv, type, model::ReduceOp::sum);
    gpu_->use();
    NCCLPROBE_NCCL_CALL(
        *nccl_, recv(address(into), count, nccl_type(type), peer, comm_, handle_of(stream)));
  });
}

void NcclCommunicator::check() {
  ncclResult_t state = ncclSuccess;
  ncclResult_t code = nccl_->comm_get_async_error(comm_, &state);
  if (code == ncclSuccess)
    code = state;
  if (code == ncclSuccess || code == ncclInProgress)
    return;
  give_up();
  raise_nccl(*nccl_, code, "a communicator's work (ncclCommGetAsyncError)", __FILE__, __LINE__);
}

namespace {

class NcclRegistration final : public backend::Registration {
public:
  NcclRegistration(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<PeerGroup> peers,
                   std::shared_ptr<CudaGpu> gpu, ncclComm_t comm, void* handle)
      : nccl_(std::move(nccl)), peers_(std::move(peers)), gpu_(std::move(gpu)), comm_(comm),
        handle_(handle) {}
  // With NCCL_LOCAL_REGISTER=0 registering does nothing and returns no handle.
  ~NcclRegistration() override {
    if (handle_ == nullptr || peers_->broken)
      return;
    try {
      gpu_->use();
      if (nccl_->comm_deregister(comm_, handle_) != ncclSuccess)
        spdlog::warn("ncclCommDeregister failed");
    } catch (...) { // the process is about to end anyway
    }
  }
  NcclRegistration(const NcclRegistration&) = delete;
  NcclRegistration& operator=(const NcclRegistration&) = delete;

private:
  std::shared_ptr<const NcclLibrary> nccl_;
  std::shared_ptr<PeerGroup> peers_;
  std::shared_ptr<CudaGpu> gpu_;
  ncclComm_t comm_;
  void* handle_;
};

} // namespace

// Only ncclCommRegister: windows (ncclCommWindowRegister) are another feature, with multicast.
std::unique_ptr<backend::Registration> NcclCommunicator::register_buffer(backend::Buffer& buffer) {
  auto& memory = static_cast<GpuBuffer&>(buffer);
  if (!nccl_->registers_memory())
    raise(Errc::unsupported, "NCCL {} cannot register memory", nccl_->version);
  gpu_->use();
  void* handle = nullptr;
  ncclResult_t code = nccl_->comm_register(comm_, memory.data(), memory.size_bytes(), &handle);
  gpu_->forget_current();
  if (code != ncclSuccess)
    raise(Errc::unsupported, "NCCL {} registers no buffer of {} bytes: {}", nccl_->version,
          memory.size_bytes(), nccl_->get_error_string(code));
  return std::make_unique<NcclRegistration>(nccl_, peers_, gpu_, comm_, handle);
}

} // namespace ncclprobe::nvidia
