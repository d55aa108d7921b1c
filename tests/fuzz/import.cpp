// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/import_format.h"

#include <cstddef>
#include <cstdint>
#include <string>

// The first byte chooses the reader: one of the formats, or the one that the text looks like.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  namespace imports = analysis::imports;
  if (size == 0)
    return 0;
  imports::ImportText file{.path = "fuzz",
                           .format = static_cast<model::ImportFormat>(data[0] & 3),
                           .text = std::string(reinterpret_cast<const char*>(data + 1), size - 1)};
  if ((data[0] & 4) != 0) {
    const auto format = imports::format_of(file.text);
    if (!format)
      return 0;
    file.format = *format;
  }
  imports::ImportHints hints;
  if ((data[0] & 8) != 0)
    hints = {.collective = model::Collective::all_reduce, .ranks = 2};
  if (const auto inputs = imports::read_inputs({file}, hints))
    (void)imports::make_run(*inputs);
  return 0;
}
