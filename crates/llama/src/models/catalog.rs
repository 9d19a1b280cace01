//! The models that can be downloaded.

/// A downloadable model and the facts shown before the download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) repository: &'static str,
    /// The local file name; the name in the repository differs only in case.
    pub(crate) file: &'static str,
    /// The pinned version in the repository. Later commits of its branch have not been reviewed.
    pub(crate) pin: Pin,
    pub(crate) licence: &'static str,
    pub(crate) licence_url: &'static str,
    pub(crate) source: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) commit: &'static str,
    pub(crate) path: &'static str,
    pub(crate) bytes: u64,
    pub(crate) sha256: &'static str,
}

pub(crate) const GPT_OSS_20B: Offer = Offer {
    id: "gpt-oss-20b",
    name: "GPTOSS 20B",
    repository: "ggml-org/gpt-oss-20b-GGUF",
    file: "gpt-oss-20b-MXFP4.gguf",
    pin: Pin {
        commit: "e1dc459feff949ff451ce107337a2026daa80df8",
        path: "gpt-oss-20b-mxfp4.gguf",
        bytes: 12_109_566_560,
        sha256: "be37a636aca0fc1aae0d32325f82f6b4d21495f06823b5fbc1898ae0303e9935",
    },
    licence: "Apache-2.0",
    licence_url: "https://www.apache.org/licenses/LICENSE-2.0",
    source: "https://huggingface.co/ggml-org/gpt-oss-20b-GGUF",
};

pub(crate) const OFFERS: [Offer; 1] = [GPT_OSS_20B];
