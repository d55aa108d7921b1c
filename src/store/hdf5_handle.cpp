// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/hdf5_handle.h"

namespace ncclprobe::store {

void silence_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string take_hdf5_error() {
  // From the call we made down to where it failed: the last entry is the cause.
  std::string cause;
  H5E_walk2_t keep_last = [](unsigned, const H5E_error2_t* entry, void* text) -> herr_t {
    if (entry->desc && *entry->desc)
      *static_cast<std::string*>(text) = entry->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_last, &cause);
  H5Eclear2(H5E_DEFAULT);
  for (char& c : cause)
    if (c == '\n')
      c = ' ';
  return cause.empty() ? "failed without a reason" : cause;
}

} // namespace ncclprobe::store
