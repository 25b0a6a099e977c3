// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_library.h"

#if ORRERY_HAS_NCCL
#include <nccl.h>

#include <cstring>

#include "engine/base/check.h"
#include "kernels/cuda/nvidia_libraries.h"
#include "kernels/cuda/shared_library.h"

namespace orrery {
namespace {

static_assert(kNcclSuccess == ncclSuccess && kNcclRemoteError == ncclRemoteError &&
              kNcclInProgress == ncclInProgress);
static_assert(sizeof(ncclUniqueId) == sizeof(NcclUniqueId));

ncclDataType_t type_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32:
            return ncclFloat32;
        case Dtype::bf16:
            return ncclBfloat16;
        case Dtype::fp16:
            return ncclFloat16;
        case Dtype::int32:
            return ncclInt32;
        case Dtype::int8:
            return ncclInt8;
        case Dtype::fp8:
        case Dtype::uint8:
            return ncclUint8;
    }
    ORRERY_CHECK(false);
    return ncclUint8;
}

// Zero CTAs: NCCL uses copy engines if it can (user guide, "NCCL API Supported Flags"). That needs
// buffers registered as symmetric windows; for other buffers SMs move the bytes.
void set_mover(const Mover& mover, ncclConfig_t& config) {
    if (mover.engine == TransferEngine::copy_engine) {
#ifdef NCCL_CTA_POLICY_ZERO  // since NCCL 2.28
        config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
#endif
    } else if (mover.sm_limit > 0) {
        config.maxCTAs = mover.sm_limit;
    }
}

class LoadedNccl final : public NcclLibrary {
public:
    explicit LoadedNccl(SharedLibrary library) : library_(std::move(library)) {
        library_.find("ncclGetVersion", get_version_);
        library_.find("ncclGetErrorString", get_error_string_);
        library_.find("ncclGetLastError", get_last_error_);
        library_.find("ncclGetUniqueId", get_unique_id_);
        library_.find("ncclCommInitRankConfig", init_rank_);
        library_.find("ncclCommGetAsyncError", get_async_error_);
        library_.find("ncclCommFinalize", finalize_);
        library_.find("ncclCommDestroy", destroy_);
        library_.find("ncclCommAbort", abort_);
        library_.find("ncclGroupStart", group_start_);
        library_.find("ncclGroupEnd", group_end_);
        library_.find("ncclAllReduce", all_reduce_);
        library_.find("ncclAllGather", all_gather_);
        library_.find("ncclReduceScatter", reduce_scatter_);
        library_.find("ncclBroadcast", broadcast_);
        library_.find("ncclReduce", reduce_);
        library_.find("ncclSend", send_);
        library_.find("ncclRecv", recv_);
    }
    const SharedLibrary& library() const { return library_; }

    std::string version() const override {
        int version = 0;
        get_version_(&version);
        return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
               std::to_string(version % 100);
    }
    std::string error_text(int status, Communicator communicator) const override {
        std::string text = get_error_string_(static_cast<ncclResult_t>(status));
        const char* const last = get_last_error_(static_cast<ncclComm_t>(communicator));
        return last == nullptr || *last == '\0' ? text : text + " (" + last + ")";
    }
    int unique_id(NcclUniqueId& id) override {
        ncclUniqueId made{};
        const int status = get_unique_id_(&made);
        std::memcpy(id.data(), &made, sizeof made);
        return status;
    }
    int init(Communicator& communicator, const NcclUniqueId& id, const NcclMembers& of) override {
        ncclUniqueId copied{};
        std::memcpy(&copied, id.data(), sizeof copied);
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        set_mover(of.mover, config);
        ncclComm_t made = nullptr;
        const int status = init_rank_(&made,
                                      static_cast<int>(of.ranks.size()),
                                      copied,
                                      static_cast<int>(of.position),
                                      &config);
        communicator = made;
        return status;
    }
    int async_error(Communicator communicator, int& state) override {
        ncclResult_t result = ncclSuccess;
        const int status = get_async_error_(static_cast<ncclComm_t>(communicator), &result);
        state = result;
        return status;
    }
    int finalize(Communicator communicator) override {
        return finalize_(static_cast<ncclComm_t>(communicator));
    }
    int destroy(Communicator communicator) override {
        return destroy_(static_cast<ncclComm_t>(communicator));
    }
    int abort(Communicator communicator) override {
        return abort_(static_cast<ncclComm_t>(communicator));
    }
    int group_start() override { return group_start_(); }
    int group_end() override { return group_end_(); }

    int call(const NcclCall& c, Communicator communicator, Stream stream) override {
        auto* const comm = static_cast<ncclComm_t>(communicator);
        auto* const on = static_cast<cudaStream_t>(stream);
        const auto count = static_cast<std::size_t>(c.count);
        const ncclDataType_t type = type_of(c.dtype);
        const ncclRedOp_t sum = c.reduction == Reduction::max ? ncclMax : ncclSum;
        const auto peer = static_cast<int>(c.peer);
        switch (c.function) {
            case NcclCallKind::all_reduce:
                return all_reduce_(c.in, c.out, count, type, sum, comm, on);
            case NcclCallKind::all_gather:
                return all_gather_(c.in, c.out, count, type, comm, on);
            case NcclCallKind::reduce_scatter:
                return reduce_scatter_(c.in, c.out, count, type, sum, comm, on);
            case NcclCallKind::broadcast:
                return broadcast_(c.in, c.out, count, type, peer, comm, on);
            case NcclCallKind::reduce:
                return reduce_(c.in, c.out, count, type, sum, peer, comm, on);
            case NcclCallKind::send:
                return send_(c.in, count, type, peer, comm, on);
            case NcclCallKind::recv:
                return recv_(c.out, count, type, peer, comm, on);
        }
        return ncclInvalidArgument;
    }

private:
    SharedLibrary library_;
    decltype(ncclGetVersion)* get_version_ = nullptr;
    decltype(ncclGetErrorString)* get_error_string_ = nullptr;
    decltype(ncclGetLastError)* get_last_error_ = nullptr;
    decltype(ncclGetUniqueId)* get_unique_id_ = nullptr;
    decltype(ncclCommInitRankConfig)* init_rank_ = nullptr;
    decltype(ncclCommGetAsyncError)* get_async_error_ = nullptr;
    decltype(ncclCommFinalize)* finalize_ = nullptr;
    decltype(ncclCommDestroy)* destroy_ = nullptr;
    decltype(ncclCommAbort)* abort_ = nullptr;
    decltype(ncclGroupStart)* group_start_ = nullptr;
    decltype(ncclGroupEnd)* group_end_ = nullptr;
    decltype(ncclAllReduce)* all_reduce_ = nullptr;
    decltype(ncclAllGather)* all_gather_ = nullptr;
    decltype(ncclReduceScatter)* reduce_scatter_ = nullptr;
    decltype(ncclBroadcast)* broadcast_ = nullptr;
    decltype(ncclReduce)* reduce_ = nullptr;
    decltype(ncclSend)* send_ = nullptr;
    decltype(ncclRecv)* recv_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<NcclLibrary>> open_nccl() {
    auto library =
        SharedLibrary::open(nvidia_library_places("libnccl.so.2", ORRERY_NCCL_LIBRARY_DIR));
    if (!library) {
        return fail("", "NCCL can't be loaded: " + library.error().what, kNvidiaLibraryHint);
    }
    auto loaded = std::make_unique<LoadedNccl>(std::move(*library));
    if (!loaded->library().missing().empty()) {
        return fail("", "this NCCL is too old: it has no " + loaded->library().missing().front());
    }
    return loaded;
}

}  // namespace orrery

#else

namespace orrery {

Result<std::unique_ptr<NcclLibrary>> open_nccl() {
    return fail("", "built without NCCL", "install libnccl-dev, and build again");
}

}  // namespace orrery

#endif
