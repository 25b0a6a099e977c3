// SPDX-License-Identifier: Apache-2.0
// Reads the files of a checkpoint: the description of its run, and whole parameters or parts of
// them, gathered from the ranks that hold them. A file is opened, and its checksum verified, at its
// first use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/tensor_view.h"
#include "runtime/checkpoint.h"
#include "runtime/state/parameter_block.h"
#include "runtime/state/safetensors.h"

namespace orrery {

// The stored tensors of a parameter.
enum class Section : std::uint8_t { weight, first_moment, second_moment, master };
std::string_view name(Section section);

// The name of a rank's file.
std::string checkpoint_file_name(std::int64_t rank);
std::map<std::string, std::string> checkpoint_metadata(const RunState& run,
                                                       std::int64_t rank,
                                                       std::int64_t num_ranks);
// The place of a stored tensor in the whole parameter: its block, and the range of the block's
// elements.
std::string part_text(const ParameterBlock& block, ElementRange range);
std::string_view type_of(Dtype dtype);

class CheckpointFiles {
public:
    // `first_rank` is the rank whose file probably has the requested data.
    static Result<CheckpointFiles> open(const std::filesystem::path& folder,
                                        std::int64_t first_rank = 0);

    const RunState& run() const { return run_; }
    // Verifies that the files of all ranks are present and intact.
    Result<void> verify();
    // Reads `range` of a block of a parameter; the element type must be the stored one.
    Result<void> read(const std::string& parameter,
                      Section section,
                      const ParameterBlock& block,
                      ElementRange range,
                      TensorView into);
    // A whole parameter in fp32, from the master weights if there are any.
    Result<std::vector<float>> read_weights(const std::string& parameter,
                                            std::int64_t rows,
                                            std::int64_t columns);

private:
    struct Part {
        ParameterBlock block;
        ElementRange range;
    };
    explicit CheckpointFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
    Result<const Safetensors*> file(std::int64_t rank);
    Result<Part> part(const Safetensors& file, const StoredTensor& tensor) const;
    // Copies the elements of `wanted` that the file has, and sets their bits in `filled`.
    Result<bool> copy_from(const Safetensors& file,
                           const std::string& tensor,
                           const Part& wanted,
                           TensorView into,
                           std::vector<bool>& filled) const;

    std::filesystem::path folder_;
    RunState run_;
    std::int64_t first_rank_ = 0;
    std::int64_t num_ranks_ = 1;
    std::map<std::int64_t, Safetensors> files_;
};

}  // namespace orrery
