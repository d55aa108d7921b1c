// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "fuzz/memory_file.h"
#include "system/mapped_libraries.h"

#include "base/loader.h"

#include <cstddef>
#include <cstdint>

// The names in an ELF file, and the loader's cache.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with("\x7f"
                        "ELF"))
    (void)system::dynamic_names(fuzz::MemoryFile(bytes).path());
  else
    (void)base::files_of_loader_cache(bytes);
  return 0;
}
