// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <memory>

namespace ncclprobe::host {

// Ordinary memory. Work in a stream shares ownership, so that freeing a buffer too early, or an
// exception that unwinds the owner of buffers and streams, never leaves a stream writing into freed
// memory.
class HostBuffer : public backend::Buffer {
public:
  // Poisoned. Errc::unavailable: more than the machine, or the control group, has left.
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

  // The bytes [offset, offset + bytes), kept for as long as somebody holds them.
  // Errc::invalid_argument: not inside the buffer.
  std::shared_ptr<std::byte> hold(std::uint64_t offset, std::uint64_t bytes) const;

private:
  std::uint64_t bytes_;
  std::shared_ptr<std::byte> memory_;
};

} // namespace ncclprobe::host
