// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/memory_file.h"

#include "store/superblock.h"

#include <cstdlib>
#include <cstring>

namespace ncclprobe::store {
namespace {

// HDF5 needs a name for a file in memory, and refuses one that exists. This one cannot exist.
constexpr const char* k_no_file = "/dev/null/image";
constexpr std::size_t k_growth_bytes = 1 << 18;

// The 1.10 format has checksums for all metadata, so most damage becomes an error.
Hdf5Properties memory_access() {
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate", "file access");
  check_hdf5(H5Pset_fapl_core(access.get(), k_growth_bytes, 0), "H5Pset_fapl_core", "memory");
  check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110),
             "H5Pset_libver_bounds", "1.10");
  return access;
}

// H5Fget_file_image of 1.10.8 clears a flag in the superblock without updating its checksum, so the
// copy cannot be opened. So HDF5's own memory is taken over when it is released on closing.
struct Keeper {
  std::string image;
  std::size_t allocated_bytes = 0;

  void keep(const void* buffer) {
    if (!buffer)
      return;
    const std::string_view bytes(static_cast<const char*>(buffer), allocated_bytes);
    if (auto size = stated_file_bytes(bytes); size && *size <= allocated_bytes)
      image.assign(bytes.substr(0, *size));
  }
};

H5FD_file_image_callbacks_t callbacks_of(Keeper* keeper) {
  H5FD_file_image_callbacks_t callbacks{};
  callbacks.image_malloc = [](size_t size, H5FD_file_image_op_t, void* keeper_) {
    static_cast<Keeper*>(keeper_)->allocated_bytes = size;
    return std::malloc(size);
  };
  callbacks.image_memcpy = [](void* to, const void* from, size_t size, H5FD_file_image_op_t,
                              void*) { return std::memcpy(to, from, size); };
  callbacks.image_realloc = [](void* buffer, size_t size, H5FD_file_image_op_t, void* keeper_) {
    static_cast<Keeper*>(keeper_)->allocated_bytes = size;
    return std::realloc(buffer, size);
  };
  callbacks.image_free = [](void* buffer, H5FD_file_image_op_t why, void* keeper_) -> herr_t {
    herr_t result = 0;
    try {
      if (why == H5FD_FILE_IMAGE_OP_FILE_CLOSE)
        static_cast<Keeper*>(keeper_)->keep(buffer);
    } catch (const std::exception&) { // must not pass through C code
      result = -1;
    }
    std::free(buffer);
    return result;
  };
  callbacks.udata_copy = [](void* keeper_) { return keeper_; };
  callbacks.udata_free = [](void*) -> herr_t { return 0; };
  callbacks.udata = keeper;
  return callbacks;
}

} // namespace

struct MemoryFile::Memory : Keeper {};

MemoryFile::MemoryFile() : memory_(std::make_unique<Memory>()) {
  Hdf5Properties access = memory_access();
  auto callbacks = callbacks_of(memory_.get());
  check_hdf5(H5Pset_file_image_callbacks(access.get(), &callbacks), "H5Pset_file_image_callbacks",
             "memory");
  file_ = std::make_unique<Hdf5File>(H5Fcreate(k_no_file, H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                                     "H5Fcreate", "memory");
}

MemoryFile::~MemoryFile() = default;

std::string MemoryFile::close() {
  file_->close("memory");
  if (memory_->image.empty())
    raise(Errc::failed, "HDF5 left something open in a file in memory");
  return std::move(memory_->image);
}

} // namespace ncclprobe::store
