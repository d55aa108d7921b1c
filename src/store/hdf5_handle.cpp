// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/hdf5_handle.h"

#include "store/run_file.h"

namespace ncclprobe::store {

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0)
    return {};
  return fmt::format("{}.{}.{}", major, minor, release);
}

void prepare_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  check_hdf5(H5PLset_loading_state(0), "H5PLset_loading_state", "none");
  if (H5Lis_registered(H5L_TYPE_EXTERNAL) > 0)
    check_hdf5(H5Lunregister(H5L_TYPE_EXTERNAL), "H5Lunregister", "external links");
}

std::string take_hdf5_error() {
  // The stack goes from our call down to where it failed, so the last entry is the cause.
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

Hdf5File create_hdf5_file(const std::filesystem::path& path) {
  prepare_hdf5();
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate", "file access");
  check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110),
             "H5Pset_libver_bounds", "1.10");
  check_hdf5(H5Pset_file_locking(access.get(), false, true), "H5Pset_file_locking", "off");
  return Hdf5File(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), "H5Fcreate",
                  path.string());
}

} // namespace ncclprobe::store
