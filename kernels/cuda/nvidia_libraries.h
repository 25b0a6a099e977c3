// SPDX-License-Identifier: Apache-2.0
// Possible places of NVIDIA's libraries, in this order: the folders of ORRERY_CUDA_LIBRARIES
// (separated by colons), the loader's own, $CUDA_HOME/lib64 and $CUDA_PATH/lib64, the packages
// nvidia-* of Python installations (site-packages/nvidia/*/lib, where PyTorch installs cuBLAS and
// NCCL), and the folder of the machine that built this program.
#pragma once

#include <string>
#include <vector>

namespace orrery {

inline constexpr const char* kNvidiaLibraryHint =
    "ORRERY_CUDA_LIBRARIES=FOLDER:FOLDER... says where NVIDIA's libraries are";

// Names and paths to try in order. A pattern without a match is included as it is, so that an error
// can name every place.
std::vector<std::string> nvidia_library_places(const std::string& name,
                                               const std::string& folder_of_the_build);

}  // namespace orrery
