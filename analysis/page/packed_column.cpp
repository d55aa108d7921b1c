// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/page/packed_column.h"

#include "base/base64.h"

#include <libdeflate.h>
#include <memory>
#include <new>

namespace ncclprobe::analysis {

std::string packed_column(const std::vector<std::uint32_t>& values) {
  constexpr int k_level = 9;
  constexpr unsigned k_bytes = 4;
  std::string bytes;
  bytes.reserve(k_bytes * values.size());
  for (unsigned byte = 0; byte < k_bytes; ++byte)
    for (std::uint32_t value : values)
      bytes += static_cast<char>(value >> (8 * byte) & 0xff);
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(k_level), libdeflate_free_compressor);
  if (!compressor)
    throw std::bad_alloc();
  std::string out(libdeflate_zlib_compress_bound(compressor.get(), bytes.size()), '\0');
  out.resize(libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(), out.data(),
                                      out.size()));
  return base::base64(out);
}

} // namespace ncclprobe::analysis
