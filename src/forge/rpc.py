"""Sharing one model between two machines with llama.cpp's RPC backend: the settings for :mod:`forge.server`."""

from forge.serving.rpc_config import LlamaCppRpcConfig, LlamaCppRpcWorkerConfig

__all__ = ["LlamaCppRpcConfig", "LlamaCppRpcWorkerConfig"]
