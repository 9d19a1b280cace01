//! The models that can be downloaded.

/// A downloadable model and the facts shown before the download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    /// Owner and name of the repository on the server.
    pub(crate) repository: &'static str,
    /// The file name, compared with the repository ignoring case.
    pub(crate) file: &'static str,
    /// Approximate size in bytes; the server's listing has the exact one.
    pub(crate) about_bytes: u64,
    pub(crate) licence: &'static str,
    pub(crate) licence_url: &'static str,
    pub(crate) source: &'static str,
}

/// The default model. Its file had 12,109,566,624 bytes.
pub(crate) const GPT_OSS_20B: Offer = Offer {
    id: "gpt-oss-20b",
    name: "GPTOSS 20B",
    repository: "ggml-org/gpt-oss-20b-GGUF",
    file: "gpt-oss-20b-MXFP4.gguf",
    about_bytes: 12_109_566_624,
    licence: "Apache-2.0",
    licence_url: "https://www.apache.org/licenses/LICENSE-2.0",
    source: "https://huggingface.co/ggml-org/gpt-oss-20b-GGUF",
};

pub(crate) const OFFERS: [Offer; 1] = [GPT_OSS_20B];
