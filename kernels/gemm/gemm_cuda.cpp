// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_cuda.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <vector>

#include "engine/base/statistics.h"
#include "kernels/cuda/nvidia_libraries.h"
#include "kernels/cuda/shared_library.h"
#include "kernels/gemm/gemm_algorithms.h"

namespace orrery {
namespace {

constexpr int kCandidates = 16;
constexpr int kRepeats = 7;

// The functions of the library in use.
struct LtFunctions {
    decltype(cublasLtCreate)* create = nullptr;
    decltype(cublasLtDestroy)* destroy = nullptr;
    decltype(cublasLtGetVersion)* version = nullptr;
    decltype(cublasLtGetStatusString)* text = nullptr;
    decltype(cublasLtMatmul)* matmul = nullptr;
    decltype(cublasLtMatmulAlgoCheck)* check = nullptr;
    decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic = nullptr;
    decltype(cublasLtMatmulDescCreate)* create_desc = nullptr;
    decltype(cublasLtMatmulDescDestroy)* destroy_desc = nullptr;
    decltype(cublasLtMatmulDescSetAttribute)* set_desc = nullptr;
    decltype(cublasLtMatrixLayoutCreate)* create_layout = nullptr;
    decltype(cublasLtMatrixLayoutDestroy)* destroy_layout = nullptr;
    decltype(cublasLtMatrixLayoutSetAttribute)* set_layout = nullptr;
    decltype(cublasLtMatmulPreferenceCreate)* create_preference = nullptr;
    decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference = nullptr;
    decltype(cublasLtMatmulPreferenceSetAttribute)* set_preference = nullptr;

    void find_in(SharedLibrary& library) {
        library.find("cublasLtCreate", create);
        library.find("cublasLtDestroy", destroy);
        library.find("cublasLtGetVersion", version);
        library.find("cublasLtGetStatusString", text);
        library.find("cublasLtMatmul", matmul);
        library.find("cublasLtMatmulAlgoCheck", check);
        library.find("cublasLtMatmulAlgoGetHeuristic", heuristic);
        library.find("cublasLtMatmulDescCreate", create_desc);
        library.find("cublasLtMatmulDescDestroy", destroy_desc);
        library.find("cublasLtMatmulDescSetAttribute", set_desc);
        library.find("cublasLtMatrixLayoutCreate", create_layout);
        library.find("cublasLtMatrixLayoutDestroy", destroy_layout);
        library.find("cublasLtMatrixLayoutSetAttribute", set_layout);
        library.find("cublasLtMatmulPreferenceCreate", create_preference);
        library.find("cublasLtMatmulPreferenceDestroy", destroy_preference);
        library.find("cublasLtMatmulPreferenceSetAttribute", set_preference);
    }
};

cudaDataType_t type_of(Dtype dtype) {
    return dtype == Dtype::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasLtEpilogue_t epilogue_of(const LtGemm& gemm) {
    switch (gemm.epilogue) {
        case GemmEpilogue::bias:
            return CUBLASLT_EPILOGUE_BIAS;
        case GemmEpilogue::gelu:
            return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
        case GemmEpilogue::dgelu:
            return CUBLASLT_EPILOGUE_DGELU;
        case GemmEpilogue::bias_gradient:
            return gemm.first_is_b ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
        default:
            return CUBLASLT_EPILOGUE_DEFAULT;
    }
}

bool has_bias(GemmEpilogue epilogue) {
    return epilogue == GemmEpilogue::bias || epilogue == GemmEpilogue::gelu ||
           epilogue == GemmEpilogue::bias_gradient;
}
bool has_aux(GemmEpilogue epilogue) {
    return epilogue == GemmEpilogue::gelu || epilogue == GemmEpilogue::dgelu;
}

// A product with its descriptors, and its algorithm once it is chosen.
struct Prepared {
    LtGemm gemm;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t a = nullptr;
    cublasLtMatrixLayout_t b = nullptr;
    cublasLtMatrixLayout_t c = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    bool chosen = false;
};

class LoadedCublasLt final : public CudaGemm {
public:
    LoadedCublasLt(SharedLibrary library, const CudaGemmOptions& options)
        : library_(std::move(library)), options_(options), algorithms_("", "") {
        lt_.find_in(library_);
    }
    ~LoadedCublasLt() override {
        for (auto& [key, p] : prepared_) {
            lt_.destroy_layout(p.a);
            lt_.destroy_layout(p.b);
            lt_.destroy_layout(p.c);
            lt_.destroy_desc(p.desc);
        }
        if (handle_ != nullptr) {
            lt_.destroy(handle_);
        }
        if (begin_ != nullptr) {
            cudaEventDestroy(begin_);
            cudaEventDestroy(end_);
        }
    }

    Result<void> begin() {
        if (!library_.missing().empty()) {
            return fail("", "this cuBLASLt has no " + library_.missing().front());
        }
        if (Result<void> done = check(lt_.create(&handle_), "cublasLtCreate"); !done) {
            return done;
        }
        if (cudaEventCreate(&begin_) != cudaSuccess || cudaEventCreate(&end_) != cudaSuccess) {
            return fail("", "CUDA has no events to time matrix products with");
        }
        algorithms_ = GemmAlgorithms{options_.device, version()};
        return options_.algorithms.empty() ? Result<void>{} : algorithms_.load(options_.algorithms);
    }

    std::string version() const override { return std::to_string(lt_.version()); }
    std::size_t measured() const override { return measured_; }
    Result<void> save() override {
        return options_.algorithms.empty() || measured_ + remembered_ == 0
                   ? Result<void>{}
                   : algorithms_.save(options_.algorithms);
    }

    std::optional<std::int64_t> remembered(const std::string& key) const override {
        const auto known = algorithms_.find(key);
        return known ? std::optional{known->nanoseconds} : std::nullopt;
    }
    void remember(const std::string& key, std::int64_t value) override {
        algorithms_.set(key, {.nanoseconds = value});
        ++remembered_;
    }

    Result<void> prepare(const GemmRequest& request,
                         const GemmPointers& pointers,
                         CUstream_st* stream) override {
        auto found = find(request);
        if (!found) {
            return unexpected<Error>(found.error());
        }
        Prepared& p = **found;
        if (p.chosen || take_known(p)) {
            return {};
        }
        return measure(p, pointers, stream);
    }

    Result<void> run(const GemmRequest& request,
                     const GemmPointers& pointers,
                     CUstream_st* stream) override {
        auto found = find(request);
        if (!found) {
            return unexpected<Error>(found.error());
        }
        Prepared& p = **found;
        if (!p.chosen && !take_known(p)) {
            // Not measured: use the library's first proposal.
            auto candidates = propose(p);
            if (!candidates) {
                return unexpected<Error>(candidates.error());
            }
            p.algorithm = candidates->front().algo;
            p.chosen = true;
        }
        return multiply(p, pointers, p.algorithm, stream);
    }

private:
    Result<void> check(cublasStatus_t status, const std::string& what) const {
        return status == CUBLAS_STATUS_SUCCESS
                   ? Result<void>{}
                   : fail("", what + ": " + lt_.text(status) + " (cuBLASLt)");
    }

    template <class Value>
    bool set(const Prepared& p, cublasLtMatmulDescAttributes_t attribute, Value value) const {
        return lt_.set_desc(p.desc, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
    }

    bool make_layout(cublasLtMatrixLayout_t& layout, const LtMatrix& m, std::int64_t batch) const {
        const auto rows = static_cast<std::uint64_t>(m.rows);
        const auto columns = static_cast<std::uint64_t>(m.columns);
        if (lt_.create_layout(&layout, type_of(m.dtype), rows, columns, m.stride) !=
            CUBLAS_STATUS_SUCCESS) {
            return false;
        }
        const auto count = static_cast<std::int32_t>(batch);
        const bool one = batch == 1;
        return one ||
               (lt_.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count) ==
                    CUBLAS_STATUS_SUCCESS &&
                lt_.set_layout(layout,
                               CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                               &m.batch_stride,
                               sizeof m.batch_stride) == CUBLAS_STATUS_SUCCESS);
    }

    bool describe(Prepared& p) const {
        const LtGemm& g = p.gemm;
        const cublasOperation_t first = g.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
        const cublasOperation_t second = g.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
        bool done =
            lt_.create_desc(&p.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
            set(p, CUBLASLT_MATMUL_DESC_TRANSA, first) &&
            set(p, CUBLASLT_MATMUL_DESC_TRANSB, second) &&
            set(p, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(g));
        if (has_bias(g.epilogue)) {
            done = done && set(p, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(g.c.dtype));
        }
        if (has_aux(g.epilogue)) {
            done = done && set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, g.aux_stride) &&
                   set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type_of(g.c.dtype));
        }
        if (g.reserved_sms > 0) {
            const std::int32_t sms = std::max(1, options_.num_sms - g.reserved_sms);
            done = done && set(p, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, sms);
        }
        return done && make_layout(p.a, g.a, g.batch) && make_layout(p.b, g.b, g.batch) &&
               make_layout(p.c, g.c, g.batch);
    }

    Result<Prepared*> find(const GemmRequest& request) {
        if (const std::string why = why_not_cublaslt(request); !why.empty()) {
            return fail("", why);
        }
        const LtGemm gemm = lt_gemm(request);
        const auto [place, fresh] = prepared_.try_emplace(key_of(gemm));
        if (fresh) {
            place->second.gemm = gemm;
            if (!describe(place->second)) {
                return fail("", "cuBLASLt refuses the description of " + place->first);
            }
        }
        return &place->second;
    }

    // Uses the algorithm from the file if the library still accepts it.
    bool take_known(Prepared& p) const {
        const auto known = algorithms_.find(key_of(p.gemm));
        if (!known) {
            return false;
        }
        static_assert(sizeof p.algorithm.data == sizeof known->description);
        std::copy(known->description.begin(), known->description.end(), p.algorithm.data);
        cublasLtMatmulHeuristicResult_t result{};
        const bool fits = lt_.check(handle_, p.desc, p.a, p.b, p.c, p.c, &p.algorithm, &result) ==
                              CUBLAS_STATUS_SUCCESS &&
                          result.workspaceSize <= static_cast<std::size_t>(kGemmWorkspaceBytes);
        p.chosen = fits;
        return fits;
    }

    using Candidates = std::vector<cublasLtMatmulHeuristicResult_t>;
    Result<Candidates> propose(const Prepared& p) const {
        cublasLtMatmulPreference_t preference = nullptr;
        if (Result<void> done =
                check(lt_.create_preference(&preference), "cublasLtMatmulPreferenceCreate");
            !done) {
            return unexpected<Error>(done.error());
        }
        const auto workspace = static_cast<std::size_t>(kGemmWorkspaceBytes);
        bool ready = lt_.set_preference(preference,
                                        CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                        &workspace,
                                        sizeof workspace) == CUBLAS_STATUS_SUCCESS;
        const auto alignment = static_cast<std::uint32_t>(p.gemm.alignment);
        for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                     CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
            ready =
                ready && lt_.set_preference(preference, attribute, &alignment, sizeof alignment) ==
                             CUBLAS_STATUS_SUCCESS;
        }
        Candidates found(kCandidates);
        int count = 0;
        const cublasStatus_t status = ready ? lt_.heuristic(handle_,
                                                            p.desc,
                                                            p.a,
                                                            p.b,
                                                            p.c,
                                                            p.c,
                                                            preference,
                                                            kCandidates,
                                                            found.data(),
                                                            &count)
                                            : CUBLAS_STATUS_INVALID_VALUE;
        lt_.destroy_preference(preference);
        const std::string key = key_of(p.gemm);
        if (Result<void> done = check(status, "algorithms for " + key); !done) {
            return unexpected<Error>(done.error());
        }
        found.resize(static_cast<std::size_t>(count));
        std::erase_if(found, [](const auto& c) { return c.state != CUBLAS_STATUS_SUCCESS; });
        return found.empty() ? Result<Candidates>{fail("", "cuBLASLt has no algorithm for " + key)}
                             : Result<Candidates>{std::move(found)};
    }

    // Median of a few runs in nanoseconds; no value if the algorithm does not run.
    std::int64_t time(Prepared& p,
                      const GemmPointers& pointers,
                      const cublasLtMatmulAlgo_t& algorithm,
                      CUstream_st* stream) {
        std::vector<double> milliseconds;
        for (int i = 0; i <= kRepeats; ++i) {  // the first run warms up
            float elapsed = 0;
            if (cudaEventRecord(begin_, stream) != cudaSuccess ||
                !multiply(p, pointers, algorithm, stream) ||
                cudaEventRecord(end_, stream) != cudaSuccess ||
                cudaEventSynchronize(end_) != cudaSuccess ||
                cudaEventElapsedTime(&elapsed, begin_, end_) != cudaSuccess) {
                return -1;
            }
            if (i > 0) {
                milliseconds.push_back(static_cast<double>(elapsed));
            }
        }
        return static_cast<std::int64_t>(1e6 * median(std::move(milliseconds)));
    }

    Result<void> measure(Prepared& p, const GemmPointers& pointers, CUstream_st* stream) {
        auto candidates = propose(p);
        if (!candidates) {
            return unexpected<Error>(candidates.error());
        }
        std::int64_t best = -1;
        for (const auto& candidate : *candidates) {
            const std::int64_t elapsed = time(p, pointers, candidate.algo, stream);
            if (elapsed > 0 && (best < 0 || elapsed < best)) {
                best = elapsed;
                p.algorithm = candidate.algo;
            }
        }
        const std::string key = key_of(p.gemm);
        if (best < 0) {
            return fail("", "no algorithm of cuBLASLt runs for " + key);
        }
        p.chosen = true;
        ++measured_;
        GemmAlgorithm chosen{.nanoseconds = best};
        std::copy(
            std::begin(p.algorithm.data), std::end(p.algorithm.data), chosen.description.begin());
        algorithms_.set(key, chosen);
        return {};
    }

    Result<void> multiply(Prepared& p,
                          const GemmPointers& pointers,
                          const cublasLtMatmulAlgo_t& algorithm,
                          CUstream_st* stream) const {
        const LtGemm& g = p.gemm;
        bool ready = true;
        if (has_bias(g.epilogue)) {
            ready = set(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointers.bias);
        }
        if (has_aux(g.epilogue)) {
            ready = ready && set(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, pointers.aux);
        }
        if (!ready) {
            return fail("", "cuBLASLt refuses an operand of " + key_of(g));
        }
        const float one = 1.0f;
        const cublasStatus_t status = lt_.matmul(handle_,
                                                 p.desc,
                                                 &one,
                                                 g.first_is_b ? pointers.b : pointers.a,
                                                 p.a,
                                                 g.first_is_b ? pointers.a : pointers.b,
                                                 p.b,
                                                 &g.beta,
                                                 pointers.c,
                                                 p.c,
                                                 pointers.c,
                                                 p.c,
                                                 &algorithm,
                                                 options_.workspace,
                                                 static_cast<std::size_t>(kGemmWorkspaceBytes),
                                                 stream);
        return status == CUBLAS_STATUS_SUCCESS ? Result<void>{} : check(status, key_of(g));
    }

    SharedLibrary library_;
    CudaGemmOptions options_;
    LtFunctions lt_;
    cublasLtHandle_t handle_ = nullptr;
    GemmAlgorithms algorithms_;
    std::map<std::string, Prepared> prepared_;
    std::size_t measured_ = 0;
    std::size_t remembered_ = 0;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<CudaGemm>> CudaGemm::create(const CudaGemmOptions& options) {
    const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    auto library = SharedLibrary::open(nvidia_library_places(name, ORRERY_CUDA_LIBRARY_DIR));
    if (!library) {
        return fail("", "cuBLASLt can't be loaded: " + library.error().what, kNvidiaLibraryHint);
    }
    auto loaded = std::make_unique<LoadedCublasLt>(std::move(*library), options);
    if (Result<void> done = loaded->begin(); !done) {
        return unexpected<Error>(done.error());
    }
    return loaded;
}

}  // namespace orrery
