// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <memory>

namespace ncclprobe::host {

// Ordinary memory. Work in a stream shares ownership. A stream therefore never writes into freed
// memory, even if a buffer is freed too early or an exception unwinds the owner of buffers and
// streams.
class HostBuffer : public backend::Buffer {
public:
  // Filled with the poison byte. Errc::unavailable: more than the machine or the control group has
  // available.
  explicit HostBuffer(std::uint64_t bytes);

  std::uint64_t size_bytes() const override { return bytes_; }
  void poison_bytes(std::uint64_t offset, std::uint64_t bytes) override;
  backend::Mismatch compare_poison(std::uint64_t offset, std::uint64_t bytes) override;
  void fill(std::uint64_t offset, model::DataType, const model::Pattern&, int rank,
            std::uint64_t count) override;
  backend::Mismatch compare(std::uint64_t offset, model::DataType, const model::Pattern&,
                            const model::Expectation&) override;
  void read(std::uint64_t offset, std::span<std::byte> into) override;
  void write(std::uint64_t offset, std::span<const std::byte> from) override;

  // The bytes [offset, offset + bytes), which stay allocated while somebody holds them.
  // Errc::invalid_argument: not inside the buffer.
  std::shared_ptr<std::byte> hold(std::uint64_t offset, std::uint64_t bytes) const;

private:
  std::uint64_t bytes_;
  std::shared_ptr<std::byte> memory_;
};

} // namespace ncclprobe::host
