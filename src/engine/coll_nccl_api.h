/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_ENGINE_COLL_NCCL_API_H
#define SS_ENGINE_COLL_NCCL_API_H

#include <nccl.h>

/* For coll_nccl*.c only: the functions of the loaded library. */
/* Loaded at run time: the program starts fast, and on hosts without NCCL. */
#define SS_NCCL_FUNCTIONS(X)                                                   \
    X(ncclGetVersion)                                                          \
    X(ncclGetLastError)                                                        \
    X(ncclGetErrorString)                                                      \
    X(ncclCommGetAsyncError)                                                   \
    X(ncclGetUniqueId)                                                         \
    X(ncclCommInitRankConfig)                                                  \
    X(ncclCommSplit)                                                           \
    X(ncclCommAbort)                                                           \
    X(ncclCommFinalize)                                                        \
    X(ncclCommDestroy)                                                         \
    X(ncclCommCount)                                                           \
    X(ncclGroupStart)                                                          \
    X(ncclGroupEnd)                                                            \
    X(ncclAllReduce)                                                           \
    X(ncclAllGather)                                                           \
    X(ncclReduceScatter)                                                       \
    X(ncclBroadcast)                                                           \
    X(ncclSend)                                                                \
    X(ncclRecv)

struct ss_nccl_api {
    void *library;
#define X(name) __typeof__(&(name)) name;
    SS_NCCL_FUNCTIONS(X)
#undef X
};

#endif
