// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/library_code.h"

#include "analysis/binary/device_code.h"
#include "base/mapped_file.h"

namespace ncclprobe::analysis::doctor {

std::vector<LibraryCode> read_library_code(const model::Survey& survey) {
  std::vector<LibraryCode> found;
  if (survey.inventory.gpus.empty())
    return found;
  for (const model::MappedLibrary& library : survey.process.libraries) {
    if (!library.soname.starts_with("libnccl.so"))
      continue;
    auto file = base::MappedFile::open(library.path);
    if (!file)
      continue;
    auto code = read_device_code(file->bytes());
    if (!code || code->empty())
      continue;
    LibraryCode& one = found.emplace_back();
    one.path = library.path;
    one.cuda = code->nccl_cuda;
    for (const knowledge::CodeTarget& target : code->cubin_targets())
      one.cubins.push_back(target.sm());
    for (const knowledge::CodeTarget& target : code->ptx_targets())
      one.ptx.push_back(target.compute());
  }
  return found;
}

} // namespace ncclprobe::analysis::doctor
