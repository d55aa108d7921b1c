// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/hdf5_handle.h"

#include <memory>
#include <string>

// HDF5 files that only exist in memory. Included only by image.cpp.
namespace ncclprobe::store {

// A new, empty file; its bytes are available once it is closed without an error.
class MemoryFile {
public:
  MemoryFile();
  ~MemoryFile();
  hid_t get() const { return file_->get(); }
  // Returns the finished file. Close everything in it first. Throws Exception (failed).
  std::string close();

private:
  struct Memory;
  std::unique_ptr<Memory> memory_; // HDF5 holds its address until the file is closed
  std::unique_ptr<Hdf5File> file_;
};

} // namespace ncclprobe::store
