// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/described.h"

#include <span>
#include <string>
#include <string_view>

// Values that describe themselves (base/described.h) as bytes without names, in the order of their
// fields: both ends run the same build. Whole numbers take as many bytes as they need; texts may
// contain any bytes. Everything else has the machine's byte order: all hosts of a run have the
// same.
namespace ncclprobe::wire {

class Packer final : public base::Writer {
public:
  bool has_names() const override { return false; }
  void boolean(bool value) override { natural(value ? 1 : 0); }
  void integer(std::int64_t value) override;
  void natural(std::uint64_t value) override;
  void real(double value) override;
  void text(std::string_view value) override;
  void choice(std::uint64_t number, std::string_view) override { natural(number); }
  void optional(bool present) override { boolean(present); }
  void list(std::size_t size) override { natural(size); }
  void object() override {}
  void key(const char*) override {}
  void end() override {}
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

// Reads a Packer's output. Throws Exception (protocol) if the bytes end too early or a length
// is impossible. No input makes it read or allocate beyond them.
class Unpacker final : public base::Reader {
public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  // Replaces these secrets (base/secrets.h) in every text. They must outlive the reader.
  Unpacker(std::string_view bytes, std::span<const std::string> secrets)
      : rest_(bytes), secrets_(secrets) {}
  bool has_names() const override { return false; }
  bool boolean() override { return natural() != 0; }
  std::int64_t integer() override;
  std::uint64_t natural() override;
  double real() override;
  std::string text() override;
  std::uint64_t choice(std::span<const base::EnumName> names) override;
  bool optional() override { return boolean(); }
  std::size_t list() override;
  void element() override {}
  void object() override {}
  bool key(const char*, IfMissing) override { return true; }
  void end() override {}
  bool is_object() const override { return true; }
  // Throws if bytes are left over.
  void expect_end() const;

private:
  std::string_view take(std::uint64_t size);
  std::string_view rest_;
  std::span<const std::string> secrets_;
};

template <typename T>
std::string pack(const T& value) {
  Packer out;
  base::write_value(out, value);
  return out.take();
}
// Throws Exception (protocol), also if bytes are left over.
template <typename T>
T unpack(std::string_view bytes, std::span<const std::string> secrets = {}) {
  T value;
  Unpacker in(bytes, secrets);
  base::read_value(in, value);
  in.expect_end();
  return value;
}

} // namespace ncclprobe::wire
