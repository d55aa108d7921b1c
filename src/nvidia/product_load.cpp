// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/product_load.h"

#include "nvidia/cuda_error.h"
#include "nvidia/kernels.h"
#include "nvidia/stream.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace ncclprobe::nvidia {
namespace {

// This product has several tiles for each multiprocessor of the largest GPUs, and takes about 50 us
// there, as products of a transformer's layer do.
constexpr std::uint64_t k_rows = 4096, k_most_columns = 4096, k_depth = 1024;
constexpr std::uint64_t k_element_bytes = 2;
// Collectives wait until blocks of a product have ended. So slower GPUs get smaller products.
constexpr double k_longest_ns = 150'000;
constexpr std::uint64_t k_fewest_columns = 128;
// A job's kernels have pauses between them.
constexpr double k_busy_share = 0.85;
constexpr int k_warmups = 20, k_timed = 50;

} // namespace

ProductLoad::ProductLoad(GpuStream& stream, std::shared_ptr<CudaGpu> gpu)
    : stream_(stream), gpu_(std::move(gpu)),
      matrices_(gpu_, k_element_bytes *
                          (k_rows * k_depth + k_depth * k_most_columns + k_rows * k_most_columns)),
      begun_ns_(static_cast<std::uint64_t*>(allocate_device_memory(sizeof(std::uint64_t)))),
      columns_(k_most_columns) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(
      cudaMemsetAsync(matrices_.data(), 0, matrices_.size_bytes(), stream_.handle()));
  const auto multiply = [&] { stream_.multiply(product()); };
  for (;; columns_ /= 2) {
    stream_.prepare(product());
    product_ns_ = measure_ns(multiply);
    if (product_ns_ <= k_longest_ns || columns_ <= k_fewest_columns)
      break;
  }
  edges_ns_ = measure_ns([&] {
    enqueue_begin();
    enqueue_end(0);
  });
  spdlog::debug("a load's product of {} x {} x {} takes {:.1f} us on GPU {}", k_rows, columns_,
                k_depth, product_ns_ / 1e3, gpu_->index());
}

void ProductLoad::enqueue(std::uint64_t duration_ns) {
  const auto whole_ns = static_cast<double>(duration_ns);
  const auto products = static_cast<std::uint64_t>(k_busy_share * whole_ns / product_ns_);
  if (products == 0)
    return stream_.spin(duration_ns);
  enqueue_begin();
  const backend::GemmCall call = product();
  for (std::uint64_t i = 0; i < products; ++i)
    stream_.multiply(call);
  enqueue_end(static_cast<std::uint64_t>(std::max(whole_ns - edges_ns_, 0.0)));
}

void ProductLoad::enqueue_begin() {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(enqueue_note_time(begun_ns_.get(), stream_.handle()));
}

void ProductLoad::enqueue_end(std::uint64_t after_ns) {
  gpu_->use();
  NCCLPROBE_CUDA_CALL(enqueue_spin_since(begun_ns_.get(), after_ns, stream_.handle()));
}

backend::GemmCall ProductLoad::product() {
  const std::uint64_t b = k_element_bytes * k_rows * k_depth;
  const std::uint64_t c = b + k_element_bytes * k_depth * k_most_columns;
  return {.a = {matrices_, 0},
          .b = {matrices_, b},
          .c = {matrices_, c},
          .m = k_rows,
          .n = columns_,
          .k = k_depth,
          .type = model::DataType::f16,
          .layout = model::GemmLayout::tn};
}

double ProductLoad::measure_ns(const std::function<void()>& enqueue_one) {
  GpuEvent begin(gpu_, backend::EventUse::time), end(gpu_, backend::EventUse::time);
  for (int i = 0; i < k_warmups; ++i)
    enqueue_one();
  stream_.record(begin);
  for (int i = 0; i < k_timed; ++i)
    enqueue_one();
  stream_.record(end);
  NCCLPROBE_CUDA_CALL(cudaEventSynchronize(end.handle()));
  return elapsed_ns(begin, end) / k_timed;
}

} // namespace ncclprobe::nvidia
