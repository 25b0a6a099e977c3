// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/store_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <vector>

#include "engine/base/scratch_folder.h"
#include "engine/base/statistics.h"
#include "runtime/state/checkpoint_choice.h"
#include "runtime/state/checkpoint_files.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostBytes = std::int64_t{16} << 20;
constexpr std::int64_t kTensorsOfALayer = 12;  // norms, products and their biases

// A made-up state of a given size, with as many tensors as the model has.
class MadeUpState {
public:
    MadeUpState(const Transformer& model, std::int64_t bytes) {
        const std::int64_t tensors = 4 + kTensorsOfALayer * model.num_layers;
        const std::int64_t each = std::max<std::int64_t>(1, bytes / (3 * 4 * tensors));
        const auto count = static_cast<std::size_t>(tensors);
        const auto elements = static_cast<std::size_t>(each);
        values_.assign(3 * count, std::vector<float>(elements, 1.0f));
        for (std::size_t i = 0; i < count; ++i) {
            parameters_.push_back({.name = fmt::format("tensor {}", i),
                                   .block = ParameterBlock::whole(1, each),
                                   .held = {0, each},
                                   .weight = view_of(std::span{values_[3 * i]}),
                                   .own = {0, each},
                                   .first_moment = view_of(std::span{values_[3 * i + 1]}),
                                   .second_moment = view_of(std::span{values_[3 * i + 2]}),
                                   .master = {}});
        }
    }
    const std::vector<HeldParameter>& parameters() const { return parameters_; }

private:
    std::vector<std::vector<float>> values_;
    std::vector<HeldParameter> parameters_;
};

template <class Work>
Result<double> median_seconds(const Work& work) {
    std::vector<double> times(3);
    for (double& time : times) {
        const auto begin = std::chrono::steady_clock::now();
        if (const Result<void> done = work(); !done) {
            return unexpected<Error>(done.error());
        }
        time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    return median(std::move(times));
}

}  // namespace

Result<StoreTimes> probe_store(const fs::path& folder, const RunState& run, std::int64_t bytes) {
    const Result<ScratchFolder> scratch = ScratchFolder::make_in(folder, "probe");
    if (!scratch) {
        return unexpected<Error>(scratch.error());
    }
    const fs::path& place = scratch->path();
    const std::int64_t part = std::min(bytes, kMostBytes);
    const MadeUpState state{run.model, part};
    const fs::path checkpoint = place / checkpoint_name(run.step);
    const fs::path file = checkpoint / checkpoint_file_name(0);
    const auto save =
        median_seconds([&] { return save_checkpoint(disk(), place, run, {}, state.parameters()); });
    const auto check = median_seconds([&] { return verify_checkpoint(checkpoint); });
    const auto load = median_seconds([&]() -> Result<void> {
        const auto loaded = load_checkpoint(checkpoint, run, 0, state.parameters());
        return loaded ? Result<void>{} : unexpected<Error>(loaded.error());
    });
    const auto copy = median_seconds([&]() -> Result<void> {
        std::error_code error;
        const fs::path to = place / "copy";
        fs::copy_file(file, to, fs::copy_options::overwrite_existing, error);
        return error ? fail(to.string(), error.message()) : Result<void>{};
    });
    for (const Result<double>* one : {&save, &check, &load, &copy}) {
        if (!*one) {
            return unexpected<Error>(one->error());
        }
    }
    const double all = static_cast<double>(bytes) / static_cast<double>(std::max(part, 1L));
    return StoreTimes{all * *save, all * *check, all * *load, all * *copy};
}

}  // namespace orrery
